import { nearestName } from './nearest-name.js';
import type { ErrorName } from './errors.js';
import type { CuidRule } from './cuid.js';

export type InitRule =
  | CuidRule
  | 'type'
  | 'choice'
  | 'hex-colour'
  | 'url'
  | 'numeric-string'
  | 'at-most-3'
  | 'ignored'
  | 'unknown-key';

/** One thing to be said of initProperties. */
export interface InitFinding {
  /** JSON pointer (RFC 6901) to the property; of one that is missing, where it should be. */
  readonly pointer: string;
  readonly rule: InitRule;
  readonly severity: 'error' | 'warning';
  /** What `initialize` would answer; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

export type Findings = Generator<InitFinding, void, undefined>;

export type Properties = Readonly<Record<string, unknown>>;

export const isProperties = (value: unknown): value is Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `/a/b` for the path a, b; the message begins with the property's name. */
export function found(
  path: readonly string[],
  rule: InitRule,
  errorName: ErrorName | null,
  message: string,
): InitFinding {
  const pointer = path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return {
    pointer: pointer.join(''),
    rule,
    severity: errorName === null ? 'warning' : 'error',
    errorName,
    message: `${path.at(-1) ?? 'initProperties'} ${message}`,
  };
}

/** What the value of a property has to be. */
export interface Shape {
  readonly rule: InitRule;
  readonly test: (value: unknown) => boolean;
  /** Behind "must be". */
  readonly words: string;
  readonly isRequired?: boolean;
}
export type Shapes = Readonly<Record<string, Shape>>;

/** Errors for properties whose values do not have their shapes. */
export function* misshapen(
  properties: Properties,
  shapes: Shapes,
  errorName: ErrorName,
  path: readonly string[] = [],
): Findings {
  for (const [name, { rule, test, words, isRequired = false }] of Object.entries(shapes)) {
    const value = properties[name];
    if (value === undefined ? !isRequired : test(value)) continue;
    const broken = value === undefined ? 'required' : rule;
    yield found([...path, name], broken, errorName, `must be ${words}`);
  }
}

/** Warnings for keys that are none of the known ones: the SDK ignores them. */
export function* unknownKeys(
  properties: Properties,
  known: readonly string[],
  path: readonly string[] = [],
): Findings {
  for (const key of Object.keys(properties)) {
    if (known.includes(key)) continue;
    const near = nearestName(key, known);
    const hint = near === undefined ? '' : `: did you mean ${near}?`;
    yield found([...path, key], 'unknown-key', null, `is not a known property${hint}`);
  }
}

/** By its form only: not every platform has a whole URL class. */
export const isUrl = (value: unknown, schemes: 'https' | 'https?'): boolean =>
  typeof value === 'string' && new RegExp(`^${schemes}://[^\\s/?#]+[^\\s]*$`, 'i').test(value);
