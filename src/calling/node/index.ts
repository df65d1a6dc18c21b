// What `engagectl/calling/node` exports: what Node has to give to the SDK.

export { nodeEnv } from '../node-env.js';
export { type NodeEnv } from '../node-env.js';
export { nodeVoice } from './voice.js';
export { type NodeVoiceOptions } from './voice.js';
export { readWav } from './wav.js';
export { writeWav } from './wav.js';
export { type Sound } from './wav.js';
