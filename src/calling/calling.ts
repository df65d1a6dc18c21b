// What `engagectl/calling` exports. Nothing here or below imports from Node.
export { ErrorName } from './error-table.js';
export type { Platform } from './protocol.js';
export type { InitFinding, InitRule } from './init-finding.js';
export { lintInitProperties } from './lint-init-properties.js';
export type { SignedCallError, SignedCallResponse } from './response.js';
export { validateCuid, type CuidFinding, type CuidRule } from './validate-cuid.js';
