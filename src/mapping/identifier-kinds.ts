/** What a user can be found by (specification, endpoint 5); where a record has several, the first. */
export const identifierKinds = ['identity', 'email', 'objectId'] as const;
export type IdentifierKind = (typeof identifierKinds)[number];
