"""Readers and writers of other tools' model files."""

from pypgm.io.uai import UaiModel, read_uai, read_uai_evidence, read_uai_model, write_uai, write_uai_evidence

__all__ = ["UaiModel", "read_uai", "read_uai_evidence", "read_uai_model", "write_uai", "write_uai_evidence"]
