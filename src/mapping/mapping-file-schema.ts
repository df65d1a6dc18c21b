import { z } from 'zod';
import { cellTypes } from './upload-mapping.js';

/** What a mapping file holds. */
export const mappingFile = z.strictObject({
  identity: z.string().optional(),
  objectId: z.string().optional(),
  map: z.record(z.string(), z.string()).optional(),
  types: z.record(z.string(), z.enum(cellTypes)).optional(),
  drop: z.array(z.string()).optional(),
  only: z.array(z.string()).optional(),
});
