"""How functions are compiled that only other compiled functions call.

numba turns every function into optimised machine code by itself, and then optimises it again in
each of its callers. Of functions without wrappers nobody ever runs the former, so only their
intermediate code is made here: callers take it in, and optimise and translate all of it once.
"""

from __future__ import annotations

from types import MethodType, ModuleType
from typing import Any, Literal

from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering

from howlearn.core.world import tell_compiler


class _Library(JITCodeLibrary):
    """Intermediate code to be linked into that of callers, and nothing more."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> Literal[True]:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        known = [state.library].copy  # callers find the code by a built-in function of its own
        state.targetctx.insert_user_function(known, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = state.cr._replace(cfunc=known)
        return True


class PartCompiler(CompilerBase):
    """numba's usual steps, except that no machine code is made."""

    def define_pipelines(self) -> list[PassManager]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = PassManager("part")
        for each, why in usual.passes:
            manager.add_pass(_Lowering if issubclass(each, NativeLowering) else each, why)
        manager.finalize()
        return [manager]


def load_quickly(module: ModuleType) -> None:
    """Have the kept functions of a module loaded without more."""
    for each in vars(module).values():
        kept = getattr(each, "_cache", None)
        if type(kept) is FunctionCache:
            kept.load_overload = MethodType(_load, kept)


def _load(kept: Any, signature: Any, context: Any) -> Any:
    """In place of FunctionCache.load_overload: compiling makes everything else ready by itself."""
    rtsys.initialize(context)  # the memory of arrays
    with kept._guard_against_spurious_io_errors():
        found = kept._load_overload(signature, context)
    if found is None:
        tell_compiler()
    return found
