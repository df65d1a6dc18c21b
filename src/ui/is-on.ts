/** Of a variable that is a switch: set, and neither `0` nor `false`. */
export const isOn = (variable: string | undefined): boolean =>
  variable !== undefined && !/^(0|false)$/i.test(variable);
