// What is wrong with a text, by the numbers that `src/mapping/json-fault.ts` has the words for, and the place where.

export const enum Fault {
  none,
  // what should be there
  value,
  digit,
  key,
  colon,
  commaOrBrace,
  commaOrBracket,
  // what is there
  inString,
  tooDeep,
  goesOn,
  repeatsKey,
}

export let fault: i32 = Fault.none;
export let faultAt: i32 = 0;

/** Returns 0, which is no place in a text. */
export function fail(what: Fault, at: i32): i32 {
  fault = what;
  faultAt = at;
  return 0;
}

export function forgetFault(): void {
  fault = Fault.none;
}
