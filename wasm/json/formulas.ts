// What spreadsheets run when they open a cell. Numbers and phone numbers are exempt:
//
//     formula   = ("=" / "@" / TAB / CR / LF / "+" / "-") *byte    ; that is not
//     harmless  = ("+" / "-") *(DIGIT / " " / "." / "," / "(" / ")" / "/" / "-") DIGIT [("e" / "E") ["+" / "-"] 1*DIGIT]

import { digitsEnd } from '../json-tokens';

export function isFormula(start: i32, end: i32): bool {
  if (start == end) return false;
  const first = load<u8>(start);
  if (first == 0x2b || first == 0x2d) return !isHarmless(start + 1, end);
  return first == 0x3d || first == 0x40 || first == 0x09 || first == 0x0d || first == 0x0a;
}

function isHarmless(start: i32, end: i32): bool {
  store<u8>(end, 0); // ends digits, and is none
  let at = start;
  while (isOfNumber(load<u8>(at))) at += 1;
  if (at == start || !isDigit(load<u8>(at - 1))) return false;
  if ((load<u8>(at) | 0x20) == 0x65) {
    const sign = load<u8>(at, 1);
    const digits = sign == 0x2b || sign == 0x2d ? at + 2 : at + 1;
    at = digitsEnd(digits);
    if (at == digits) return false;
  }
  return at == end;
}

function isOfNumber(byte: i32): bool {
  return isDigit(byte) || byte == 0x20 || (byte >= 0x28 && byte <= 0x2f && byte != 0x2a && byte != 0x2b);
}

function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}
