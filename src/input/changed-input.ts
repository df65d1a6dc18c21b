import { EngagectlError } from '../errors.js';

/** The input is not what it was when an earlier part of the run read it. */
export const changedInput = (name: string, why: string): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${name} was changed since the run began`, {
    file: name,
    why,
    fix: 'restore the file and go on with --resume, or start anew with --fresh',
  });
