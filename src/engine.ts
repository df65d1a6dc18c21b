import { setFlagsFromString } from 'node:v8';

/** Newest Node that is known to have these flags of V8: without, it would complain on stderr. */
const newestTried = 24;
/** The first Node whose V8 has a compiler between the fast one and the thorough one, and counts calls instead. */
const firstWithMaglev = 22;
/** Bytecode that a function runs before it is optimized: four times the usual. */
const budgetBytes = 4 * 66 * 1024;

let isTuned = false;

/**
 * Fits V8 to a program that streams. Whatever we create lives as long as a request, so a nursery
 * that grows only takes memory. Undici's parser of HTTP is one function in WebAssembly that V8 would
 * optimize at the cost of 30 MB and a quarter of a second of CPU, more than it ever gives back: it
 * runs as it was compiled first. Of JavaScript less is optimized, and later, when what is known of
 * it holds: a quarter of a second of CPU, too. Where much arrives, it lies in buffers outside of the
 * heap, which V8 counts as if they were old: a heap as small as ours it would go through every
 * 30 MB, though the nursery's collections free them, so its limit is six times what is in use. To
 * be called before the first connection, which compiles that parser, and late: modules of Node's
 * that are loaded under other flags are compiled anew.
 */
export function tuneEngine({ receives }: { readonly receives: boolean }): void {
  const version = Number.parseInt(process.versions.node, 10);
  if (version > newestTried) return;
  if (version < firstWithMaglev) setFlagsFromString(`--interrupt-budget=${budgetBytes}`);
  setFlagsFromString('--semi-space-growth-factor=1');
  if (receives) setFlagsFromString('--heap-growing-percent=500');
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
  isTuned = true;
}

/** Compiles WebAssembly of our own, which V8 shall optimize where it is hot. */
export function optimized<T>(compile: () => T): T {
  if (!isTuned) return compile();
  setFlagsFromString('--wasm-dynamic-tiering');
  try {
    return compile();
  } finally {
    setFlagsFromString('--no-wasm-dynamic-tiering');
  }
}
