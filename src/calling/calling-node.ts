// What `engagectl/calling/node` exports: what Node has to give to the SDK.
export { nodeEnv, type NodeEnv } from './node-env.js';
export { nodeVoice, type NodeVoiceOptions } from './node-voice.js';
export { readWav, writeWav, type Sound } from './wav.js';
