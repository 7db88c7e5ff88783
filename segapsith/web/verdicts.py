"""The verdict on a domain as a sentence, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segapsith.evaluation.verdicts import LOW_COHERENCE, LOW_STABILITY
from segapsith.web.texts import Texts

__all__ = ["verdict_sentence"]


def verdict_sentence(verdict: Mapping[str, Any], texts: Texts) -> str:
    """Return a stored verdict in words; in English it is the stored sentence."""
    if texts.language == "en":
        return str(verdict["told"])
    t, sentence = texts.text, _clusters(verdict, texts)
    for note in _notes(verdict, texts):
        sentence = t("{first}; {second}", first=sentence, second=note)
    return sentence


def _clusters(verdict: Mapping[str, Any], texts: Texts) -> str:
    """Return the sentence on the clusters."""
    t, parts = texts.text, verdict["clusters"]
    if not parts:
        return t("none of its units was clustered")
    most, cluster = _percent(parts[0]["of_domain"]), parts[0]["cluster"]
    match verdict["verdict"]:
        case "confirmed":
            rest = _percent(parts[0]["of_cluster"])
            return t(
                "{most} of its units lie in cluster {cluster}, which is {rest} this domain",
                most=most, cluster=cluster, rest=rest,
            )  # fmt: skip
        case "split":
            share = _percent(sum(part["of_domain"] for part in parts))
            if len(parts) == 2:
                return t(
                    "{share} of its units lie in 2 clusters of its own: it may be two subjects",
                    share=share,
                )
            return t(
                "{share} of its units lie in {n} clusters of its own: it may be several subjects",
                share=share, n=len(parts),
            )  # fmt: skip
        case "merged":
            others = [str(number) for number in verdict["with"]]
            return t(
                "{most} of its units lie in cluster {cluster}, together with domain {others}:"
                " one subject, or two that share words",
                most=most, cluster=cluster, others=", ".join(others),
            )  # fmt: skip
    return t("its units are scattered over the clusters (at most {most} of them in one)", most=most)


def _notes(verdict: Mapping[str, Any], texts: Texts) -> list[str]:
    """Return what is said about the domain alone."""
    t, notes = texts.text, []
    stability, coherence = verdict.get("stability"), verdict.get("coherence")
    if stability is not None and stability < LOW_STABILITY:
        value = texts.number(stability, 2)
        notes.append(t("random halves of the units rarely reproduce it ({value})", value=value))
    if coherence is not None and coherence < LOW_COHERENCE:
        value = texts.number(coherence, 2)
        notes.append(t("its words hardly co-occur ({value})", value=value))
    return notes


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
