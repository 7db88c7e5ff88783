"""Names of the months as wires and feeds write them, in every language with a pack."""

from __future__ import annotations

__all__ = ["MONTHS"]

MONTHS = {
    name: number
    for number, names in enumerate(
        [
            ("jan january janv janvier januar jänner jän januari enero ene gennaio gen janeiro"
            " styczeń stycznia leden ledna tammikuu tammikuuta január ianuarie ian ιανουαρίου"
            " ιανουάριος января январь янв січня січень ocak oca يناير ינואר ژانویه जनवरी"
            " sty led oca янв січ ιαν tammi ינואר בינואר جانفي"),
            ("feb february fev févr fév février fevrier fevr februar feber februari febrero febbraio"
            " fevereiro luty lutego únor února helmikuu helmikuuta február februarie φεβρουαρίου"
            " φεβρουάριος февраля февраль фев лютого лютий şubat şub فبراير פברואר فوریه फरवरी फ़रवरी"
            " lut úno şub фев лют φεβ helmi בפברואר فيفري"),
            ("mar march mars märz mär maart marts marzo março marzec marca březen března maaliskuu"
            " maaliskuuta március martie μαρτίου μάρτιος марта март березня березень mart مارس"
            " מרץ मार्च"
            " bře márc mrt mrz мар бер μαρ μάρ maalis במרץ"),
            ("apr april avr avril abril abr aprile kwiecień kwietnia duben dubna huhtikuu"
            " huhtikuuta április aprilie απριλίου απρίλιος апреля апрель квітня квітень nisan nis"
            " أبريل אפריל آوریل अप्रैल"
            " kwi dub ápr апр квіт кві απρ huhti באפריל إبريل ابريل أفريل"),
            ("may mai mei maj mayo maggio mag maio maja květen května toukokuu toukokuuta május"
            " μαΐου μάιος мая май травня травень mayıs مايو מאי مه मई"
            " kvě máj трав тра μαΐ μάι touko במאי ماي"),
            ("jun june juin juni junio giugno giu junho czerwiec czerwca červen června kesäkuu"
            " kesäkuuta június iunie ιουνίου ιούνιος июня июнь червня червень haziran يونيو יוני"
            " ژوئن जून"
            " cze čvn haz jún iun июн черв чер ιουν ιούν kesä ביוני جوان"),
            ("jul july juil juillet juli julio luglio lug julho lipiec lipca červenec července"
            " heinäkuu heinäkuuta július iulie ιουλίου ιούλιος июля июль липня липень temmuz"
            " يوليو יולי ژوئیه जुलाई"
            " lip čvc tem júl iul июл лип ιουλ ιούλ heinä ביולי يوليوز جويلية"),
            ("aug august aou août aout augustus augusti agosto ago sierpień sierpnia srpen srpna"
            " elokuu elokuuta augusztus αυγούστου αύγουστος августа август серпня серпень ağustos"
            " أغسطس אוגוסט اوت अगस्त"
            " sie srp ağu авг серп сер αυγ αύγ elo באוגוסט غشت اغسطس أوت"),
            ("sep sept september septembre septiembre settembre setembro wrzesień września září"
            " syyskuu syyskuuta szeptember septembrie σεπτεμβρίου σεπτέμβριος сентября сентябрь"
            " вересня вересень eylül سبتمبر ספטמבר سپتامبر सितंबर"
            " wrz zář eyl szept set сен сент вер σεπ syys בספטמבר شتنبر सितम्बर"),
            ("oct october octobre oktober okt octubre ottobre outubro październik października"
            " říjen října lokakuu lokakuuta október octombrie οκτωβρίου οκτώβριος октября октябрь"
            " жовтня жовтень ekim أكتوبر אוקטובר اکتبر अक्टूबर"
            " paź říj eki out окт жовт жов οκτ loka באוקטובר اكتوبر अक्तूबर"),
            ("nov november novembre noviembre novembro listopad listopada listopadu marraskuu"
            " marraskuuta noiembrie νοεμβρίου νοέμβριος ноября ноябрь листопада листопад kasım"
            " نوفمبر נובמבר نوامبر नवंबर"
            " lis kas noi ноя нояб лист лис νοε marras בנובמבר نونبر नवम्बर"),
            ("dec december déc décembre decembre dezember dez desember diciembre dic dicembre"
            " dezembro grudzień grudnia prosinec prosince joulukuu joulukuuta decembrie δεκεμβρίου"
            " δεκέμβριος декабря декабрь грудня грудень aralık ديسمبر דצמבר دسامبر दिसंबर"
            " gru ara des dez дек груд гру δεκ joulu בדצמבר دجنبر दिसम्बर"),
        ],
        start=1,
    )
    for name in names.split()
}  # fmt: skip
"""The number of a month by its name or abbreviation, in lower case."""
