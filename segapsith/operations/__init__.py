"""Unattended work: the nightly run, feeds, alarms, backups, schedule, doctor."""
