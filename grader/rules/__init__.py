"""Rules: named, measured deductions, compiled to one SQL SELECT over a batch of traces (DESIGN.md section 2)."""

from grader.rules.compile import CompiledRules, compile_rules
from grader.rules.definitions import RULES, Rule
from grader.rules.grade import grade_batch

__all__ = ["RULES", "CompiledRules", "Rule", "compile_rules", "grade_batch"]
