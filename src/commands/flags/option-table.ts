import { CommanderError, InvalidArgumentError, Option, type Command } from 'commander';
import { markCommon } from '../../help/help-format.js';
import { addProblem } from '../../help/usage-error.js';

/** Further properties of a flag. */
interface OptionDetails {
  /** Parses the value. Throws InvalidArgumentError. */
  readonly parse?: ((text: string) => unknown) | undefined;
  readonly default?: unknown;
  /** The default as shown in help. */
  readonly defaultText?: string;
  /** Value of the flag if it is given without one. */
  readonly preset?: string;
  /** Attribute names of flags that cannot be combined with this one. */
  readonly conflicts?: string | string[];
  readonly required?: true;
  /** Listed by `-h`, like required flags; a command that marks none lists all its own flags there. */
  readonly common?: true;
  readonly hidden?: true;
  /** Each occurrence adds to a list. */
  readonly repeatable?: true;
  /** The value is a file that the command writes; other flags with a `<file>` name files that it reads. */
  readonly writes?: true;
}

type Parse = NonNullable<OptionDetails['parse']>;
/** A flag: its spelling, its help, and its parser or further properties. */
export type OptionRow = readonly [flags: string, help: string, details?: Parse | OptionDetails];
/** Flags, each group preceded by its heading in the help. */
export type OptionTable = readonly (string | OptionRow)[];

type Rows<Table extends OptionTable> = Exclude<Table[number], string>;
type IsThere<Row> = Row extends readonly [
  string,
  string,
  { readonly required: true } | { readonly default: unknown },
]
  ? true
  : false;

/** Types of the flag values by attribute name, for a table written `as const satisfies OptionTable`. */
export type FlagsOf<Table extends OptionTable> = {
  readonly [Row in Rows<Table> as IsThere<Row> extends true ? NameOf<Row[0]> : never]: ValueOf<Row>;
} & {
  readonly [
    Row in Rows<Table> as IsThere<Row> extends true ? never : NameOf<Row[0]>
  ]?: ValueOf<Row>;
};

/** Attribute name: `outFile` for `-o, --out-file <file>`, `check` for `--no-check`. */
type NameOf<Flags extends string> = Flags extends `${string}--no-${infer Rest}`
  ? Camel<FirstWord<Rest>>
  : Flags extends `${string}--${infer Rest}`
    ? Camel<FirstWord<Rest>>
    : never;
type FirstWord<Text extends string> = Text extends `${infer Word} ${string}` ? Word : Text;
type Camel<Words extends string> = Words extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Words;

type ValueOf<Row> = Row extends readonly [infer Flags, string, infer Details]
  ? Details extends { readonly repeatable: true }
    ? readonly Parsed<Flags, Details>[]
    : Parsed<Flags, Details>
  : Row extends readonly [infer Flags, string]
    ? Parsed<Flags, undefined>
    : never;
type Parsed<Flags, Details> = Details extends Parse | { readonly parse: Parse }
  ? ReturnType<
      Details extends { readonly parse: infer Of extends Parse } ? Of : Extract<Details, Parse>
    >
  : Flags extends `${string}<${string}`
    ? string
    : boolean;

/** Files that the flags of a command line name: those written by their flag, and all others. */
export function filesOf(
  table: OptionTable,
  flags: object,
): {
  readonly written: readonly (readonly [option: string, file: string])[];
  readonly read: readonly string[];
} {
  const files = table.flatMap((row) => {
    if (typeof row === 'string' || !row[0].includes('<file')) return [];
    const [spelling, , details] = row;
    const option = new Option(spelling);
    const file: unknown = Reflect.get(flags, option.attributeName());
    if (typeof file !== 'string') return [];
    const isWritten = typeof details === 'object' && details.writes === true;
    return [{ isWritten, file, option: option.long ?? option.flags }];
  });
  return {
    written: files.filter(({ isWritten }) => isWritten).map(({ option, file }) => [option, file]),
    read: files.filter(({ isWritten }) => !isWritten).map(({ file }) => file),
  };
}

export function addOptions(command: Command, table: OptionTable): void {
  let heading = 'Options:';
  for (const row of table) {
    if (typeof row === 'string') heading = row;
    else addOption(command, row, heading);
  }
}

function addOption(command: Command, [flags, help, more = {}]: OptionRow, heading: string): void {
  const details: OptionDetails = typeof more === 'function' ? { parse: more } : more;
  const { parse, conflicts, preset, repeatable, required = false, hidden = false } = details;
  const option = new Option(flags, help).helpGroup(heading);
  const noted = collectProblems(command, option, parse);
  if (repeatable) option.argParser(adding(noted ?? String));
  else if (noted) option.argParser(noted);
  if (details.default !== undefined) option.default(details.default, details.defaultText);
  if (preset !== undefined) option.preset(preset);
  if (conflicts !== undefined) option.conflicts(conflicts);
  if (details.common ?? required) markCommon(option);
  command.addOption(option.makeOptionMandatory(required).hideHelp(hidden));
  if (!repeatable) refuseRepeated(command, option);
}

/** Collects invalid values, to report all of them together. */
function collectProblems(
  command: Command,
  option: Option,
  parse: Parse | undefined,
): Parse | undefined {
  if (parse === undefined) return undefined;
  const noted = (text: string): unknown => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      addProblem(
        command,
        `option '${option.flags}' argument '${text}' is invalid. ${error.message}`,
      );
      return undefined;
    }
  };
  return Object.assign(noted, parse); // completion reads the choices from it
}

const adding = (parse: (text: string) => unknown) => (text: string, earlier: unknown) => [
  ...(Array.isArray(earlier) ? (earlier as unknown[]) : []),
  parse(text),
];

/** Rejects a repeated flag, since commander would keep the last one silently. */
function refuseRepeated(command: Command, option: Option): void {
  if (!option.required && !option.optional) return;
  let seen = false;
  command.on(`option:${option.name()}`, () => {
    if (seen) {
      throw repeatedFlagError(option.flags);
    }
    seen = true;
  });
}

export const repeatedFlagError = (flags: string): CommanderError =>
  new CommanderError(
    2,
    'engagectl.repeatedFlag',
    `option '${flags}' was given twice, and takes one value`,
  );
