/**
 * The value of a flag as it was typed, from the words of the command line: commander may not have
 * read them, or may have refused them. Undefined: it was not given.
 */
export function typedValue(argv: readonly string[], flag: string): string | undefined {
  const ends = argv.indexOf('--');
  const words = ends < 0 ? argv : argv.slice(0, ends);
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1);
}

/** How often `-v` was typed, in any spelling: `-v`, `-vv`, `-qv`, `--verbose`. */
export const verbosityOf = (argv: readonly string[]): number =>
  argv.reduce((sum, word) => {
    if (word === '--verbose') return sum + 1;
    return sum + (/^-[a-zA-Z]*v[a-zA-Z]*$/.test(word) ? word.split('v').length - 1 : 0);
  }, 0);
