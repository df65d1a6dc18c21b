import { CommanderError, Option, type Command } from 'commander';

/** What more there is to say of a flag. */
export interface OptionDetails {
  /** Throws InvalidArgumentError. */
  readonly parse?: (text: string) => unknown;
  readonly default?: unknown;
  /** The default as help shows it. */
  readonly shown?: string;
  /** Stands for the value where the flag has none. */
  readonly preset?: string;
  /** Flags that it cannot stand beside, by the names of their values. */
  readonly conflicts?: string | string[];
  readonly required?: true;
  readonly hidden?: true;
  /** Every use adds to a list. */
  readonly repeatable?: true;
}

/** A flag: how it is spelled, what help says of it, and the rest. */
export type OptionRow = readonly [flags: string, help: string, details?: OptionDetails];
/** Flags that stand under one heading of the help. */
export type OptionGroup = readonly [heading: string, rows: readonly OptionRow[]];

export function addOptions(command: Command, groups: readonly OptionGroup[]): void {
  for (const [heading, rows] of groups) {
    for (const row of rows) {
      const option = optionOf(row).helpGroup(heading);
      command.addOption(option);
      if (row[2]?.repeatable !== true) refuseRepeated(command, option);
    }
  }
}

function optionOf([flags, help, details = {}]: OptionRow): Option {
  const { parse, conflicts, preset, repeatable } = details;
  const option = new Option(flags, help);
  if (repeatable) option.argParser(adding(parse ?? String));
  else if (parse) option.argParser(parse);
  if (details.default !== undefined) option.default(details.default, details.shown);
  if (preset !== undefined) option.preset(preset);
  if (conflicts !== undefined) option.conflicts(conflicts);
  return option.makeOptionMandatory(details.required ?? false).hideHelp(details.hidden ?? false);
}

const adding = (parse: (text: string) => unknown) => (text: string, earlier: unknown) => [
  ...(Array.isArray(earlier) ? (earlier as unknown[]) : []),
  parse(text),
];

/** commander keeps the last of a repeated flag and drops the others in silence. */
function refuseRepeated(command: Command, option: Option): void {
  if (!option.required && !option.optional) return;
  let seen = false;
  command.on(`option:${option.name()}`, () => {
    if (seen) {
      const message = `option '${option.flags}' was given twice, and takes one value`;
      throw new CommanderError(2, 'engagectl.repeatedFlag', message);
    }
    seen = true;
  });
}
