import { z } from 'zod';
import { cellTypes, isCellType, type CellType } from './upload-mapping.js';

const noType = `is not one of ${cellTypes.join(', ')}, phone(DE) and phone:+91 (any country), list(;), or one with a format`;

/** A number of a mapping file. JSON rounds larger whole numbers. */
const exactNumber = z
  .number()
  .refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
    error: 'is a number that would be rounded: write it in quotes, and set its type in "types"',
  });

/** Schema of a mapping file. In a file of its own because `import()` bundles files as a whole. */
export const mappingFileSchema = z
  .strictObject({
    identity: z.string(),
    objectId: z.string(),
    map: z.record(z.string(), z.string()),
    types: z.record(z.string(), z.custom<CellType>(isCellType, noType)),
    drop: z.array(z.string()),
    only: z.array(z.string()),
    set: z.record(z.string().min(1), z.union([z.string().min(1), exactNumber, z.boolean()])),
    lowercase: z.array(z.string()),
    trim: z.boolean(),
    nullValues: z.array(z.string()),
    required: z.array(z.string()),
    columns: z.literal('exact'),
    records: z.strictObject({ min: z.int().positive() }),
    values: z.record(z.string(), z.array(z.string()).min(1)),
  })
  .partial();

export type MappingFile = z.infer<typeof mappingFileSchema>;
