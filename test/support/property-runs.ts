/** Returns how often a property is tried: as often as given in the long suite, a tenth as often in the quick one. */
export const runs = (count: number): number =>
  process.env['ENGAGECTL_LONG'] === '1' ? count : Math.ceil(count / 10);
