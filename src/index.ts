export { main } from './main.js';
export { EngagectlError, exitCodes, type ExitCode, type ErrorId } from './errors.js';
export { nodeRuntime, type Runtime } from './runtime.js';
