import { CommanderError, type Command, type Option } from 'commander';

const repeatableOptions = new WeakSet<Option>();

/** Marks an option whose every use adds to a list. */
export function repeatable(option: Option, parse: (text: string) => unknown = String): Option {
  repeatableOptions.add(option);
  return option.argParser((text, earlier: unknown) => [
    ...(Array.isArray(earlier) ? (earlier as unknown[]) : []),
    parse(text),
  ]);
}

/** commander keeps the last of a repeated flag and drops the others in silence: refuse instead. */
export function refuseRepeatedFlags(command: Command): void {
  for (const option of command.options) {
    const takesOneValue = option.required || option.optional;
    if (!takesOneValue || option.variadic || repeatableOptions.has(option)) continue;
    let seen = false;
    command.on(`option:${option.name()}`, () => {
      if (seen) {
        const message = `option '${option.flags}' was given twice, and takes one value`;
        throw new CommanderError(2, 'engagectl.repeatedFlag', message);
      }
      seen = true;
    });
  }
  for (const child of command.commands) refuseRepeatedFlags(child);
}
