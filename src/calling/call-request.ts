import { isProperties, isUrl } from './init-properties.js';
import { isCuid } from './cuid.js';
import type { CallFailure } from './errors.js';

/** Image URLs of the two parties. */
export interface CallProperties {
  /** Shown to the receiver. */
  readonly initiator_image?: string | undefined;
  /** Shown to the initiator. */
  readonly receiver_image?: string | undefined;
}

/** Unvalidated arguments of `call`. */
interface CallRequest {
  readonly cuid: string;
  readonly receiverCuid: unknown;
  readonly callContext: unknown;
  readonly callProperties: unknown;
}

/** Returns the first error in the arguments of a call. */
export function validateCallRequest({
  cuid,
  receiverCuid,
  callContext,
  callProperties,
}: CallRequest): CallFailure | undefined {
  if (!isCuid(receiverCuid)) return { name: 'CALLEE_REQUIRED' };
  if (receiverCuid === cuid) return { name: 'SELF_CALL' };
  return checkContext(callContext) ?? checkProperties(callProperties);
}

function checkContext(context: unknown): CallFailure | undefined {
  if (typeof context !== 'string' || context === '') return { name: 'CONTEXT_REQUIRED' };
  if (context.length > 64) return { name: 'CONTEXT_LENGTH' };
  if (isContext(context)) return undefined;
  const detail =
    'The context may contain only ASCII letters, digits and single spaces between words';
  return { name: 'BAD_REQUEST', detail };
}

/**
 * Whether the value is a call context: 1 to 64 letters and digits, with single spaces between words. The
 * specification says alphanumeric, but its own examples contain words.
 */
export const isContext = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 64 && /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/.test(value);

function checkProperties(properties: unknown): CallFailure | undefined {
  if (properties === undefined || properties === null) return undefined;
  if (!isProperties(properties)) return { name: 'CALL_OPTIONS' };
  const { initiator_image, receiver_image } = properties;
  for (const [name, image] of Object.entries({ initiator_image, receiver_image })) {
    if (image !== undefined && image !== null && !isUrl(image, 'https?'))
      return { name: 'CALL_OPTIONS', detail: `${name} must be an http or https URL` };
  }
  return undefined;
}
