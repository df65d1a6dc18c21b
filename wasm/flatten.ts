// Records as rows of a CSV, for `src/output/csv-rows.ts`.
export { escapeFormulas, setFormulas } from './json/cells';
export { addPlace, columnCount, findPlace, giveColumn, parentOf, placeOfColumn, root, spellingEnd, spellingOf } from './json/places';
export { boundsRoom, fixColumns, flatten, flattened, recordRoom } from './json/rows';
