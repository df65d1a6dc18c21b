/** The run of an index that a row's entry is in: 4096 rows each. */
export const runOf = (id: string): string => `${id} >> 12`;

/**
 * SQL for a column, as id, of the rows that meet the condition, run by run of an index (tables.ts), in the order of
 * the index within each: 250 places of it for a million rows, some 1.5 ms.
 */
export const inRuns = (table: 'profiles' | 'keys', column: string, condition: string): string =>
  `WITH RECURSIVE runs (run) AS (
     SELECT 0 UNION ALL SELECT run + 1 FROM runs WHERE run < (SELECT ${runOf('max(id)')} FROM ${table})
   )
   SELECT ${column} AS id FROM runs CROSS JOIN ${table} t ON ${runOf('t.id')} = run AND ${condition}`;
