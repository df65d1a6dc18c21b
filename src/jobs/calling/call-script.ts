import { validateCuid } from '../../calling/cuid.js';
import { TextSlice } from '../../text/text-slice.js';
import { columnError } from '../../mapping/columns.js';
import { RowValues } from '../../mapping/row-values.js';
import { validationError, type RejectReason } from '../../mapping/record-block.js';
import type { RowBlock } from '../../input/row-block.js';
import type { AnswerMode } from './phone.js';

/** Behaviors of a receiver, and the resulting last event of the caller. */
const receivers = {
  answer: 'Ended',
  decline: 'Declined',
  ignore: 'Missed',
  'no-microphone': 'DeclinedDueToMicrophonePermissionsNotGranted',
  'notifications-off': 'DeclinedDueToNotificationsDisabled',
  absent: 'NOT_REACHABLE',
  /** An app under test, on a device or in a browser, which answers by itself. */
  external: 'Ended',
} as const;
export type ReceiverBehavior = keyof typeof receivers;

/** A call of a script. Times are in milliseconds. */
export interface CallScriptRow {
  readonly caller: string;
  readonly callee: string;
  readonly context: string;
  readonly calleeDoes: ReceiverBehavior;
  /** Last event of the caller, or the name of an error. */
  readonly expect: string;
  readonly answerAfter: number;
  readonly hangupAfter: number;
  readonly cancelAfter: number | undefined;
  /** Frequency in Hz of the tone that each side sends and has to hear; undefined: no voice. */
  readonly voice: number | undefined;
}

const required = ['caller', 'callee', 'context'] as const;
const waits = ['answer_after', 'hangup_after', 'cancel_after'] as const;
const columns = [...required, 'callee_does', 'expect', 'voice', ...waits] as const;
export const requiredColumns: readonly string[] = required;

/** Returns the answer mode of a receiver's phone. */
export const answerOf = (receiver: ReceiverBehavior): AnswerMode =>
  receiver === 'decline' || receiver === 'ignore' ? receiver : 'auto';

/** Parses rows into calls. Reports all errors of a row together. */
export class CallScriptReader {
  readonly #values = new RowValues<(typeof columns)[number]>(columns, true);
  readonly #text = new TextSlice();
  #wrong: string[] = [];

  read(rows: RowBlock, row: number): CallScriptRow | RejectReason {
    const unreadable = this.#values.moveTo(rows, row);
    if (unreadable) return unreadable;
    if (!this.#values.isNamed) return validationError('the record must be a JSON object');
    this.#wrong = [];
    const [caller, callee] = [this.#cuid('caller'), this.#cuid('callee')];
    const context = this.#textOf('context');
    if (context === '') this.#wrong.push('column "context": the value is empty');
    const [answerAfter, hangupAfter, cancelAfter] = waits.map((name) => this.#wait(name));
    const calleeDoes = this.#receiver();
    const usual = cancelAfter !== undefined && calleeDoes === 'ignore' ? 'Cancelled' : undefined;
    const expect = this.#textOf('expect') || (usual ?? receivers[calleeDoes]);
    const voice = this.#frequency();
    if (voice !== undefined && expect !== 'Ended')
      this.#wrong.push(`column "voice": a call that ends with ${expect} has no voice`);
    if (this.#wrong.length > 0) return validationError(this.#wrong.join('; '));
    return {
      caller,
      callee,
      context,
      calleeDoes,
      expect,
      answerAfter: answerAfter ?? 0,
      hangupAfter: hangupAfter ?? 0,
      cancelAfter,
      voice,
    };
  }

  #frequency(): number | undefined {
    const text = this.#textOf('voice');
    if (text === '') return undefined;
    const hertz = /^\d{2,4}$/.test(text) ? Number(text) : 0;
    if (hertz >= 100 && hertz <= 3000) return hertz;
    this.#wrong.push(`column "voice": ${JSON.stringify(text)} is not a tone of 100 to 3000 Hz`);
    return undefined;
  }

  #textOf(name: (typeof columns)[number]): string {
    const failure = this.#values.readOptional(name, this.#text);
    if (failure) this.#wrong.push(failure.error);
    return failure ? '' : this.#text.toString();
  }

  #cuid(name: 'caller' | 'callee'): string {
    const cuid = this.#textOf(name);
    for (const { severity, message } of validateCuid(cuid)) {
      if (severity === 'error') this.#wrong.push(columnError(name, `it ${message}`));
    }
    return cuid;
  }

  #receiver(): ReceiverBehavior {
    const text = this.#textOf('callee_does') || 'answer';
    if (Object.hasOwn(receivers, text)) return text as ReceiverBehavior;
    const known = Object.keys(receivers).join(', ');
    this.#wrong.push(`column "callee_does": ${JSON.stringify(text)} is not one of ${known}`);
    return 'answer';
  }

  #wait(name: (typeof waits)[number]): number | undefined {
    const text = this.#textOf(name);
    if (text === '') return undefined;
    const [, number, unit = ''] = /^(\d{1,6}(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
    const milliseconds = Number(number) * { ms: 1, s: 1000, m: 60_000 }[unit as 'ms' | 's' | 'm'];
    if (milliseconds >= 0) return milliseconds;
    this.#wrong.push(
      columnError(name, `${JSON.stringify(text)} is not a duration like 500ms or 2s`),
    );
    return undefined;
  }
}

export const isScriptRow = (read: CallScriptRow | RejectReason): read is CallScriptRow =>
  'caller' in read;
