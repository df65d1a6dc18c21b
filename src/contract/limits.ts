/** Limits of the service (specification, Limits; service-facts, Limits). */
export const limits = {
  recordsPerUpload: 1000,
  recordsPerSubscribe: 1000,
  identitiesPerDemerge: 100,
  /** Requests in flight per account; beyond that the service answers 429. */
  uploadsInFlight: 15,
  othersInFlight: 3,
  /** Largest batch_size that is a multiple of `batchStep`, and the default. */
  batchSize: 4991,
  batchSizeMaximum: 5000,
  batchStep: 23,
  /** Bytes. */
  profileKeyBytes: 120,
  profileValueBytes: 512,
  profileKeys: 256,
  eventPropertyKeyBytes: 120,
  eventPropertyValueBytes: 512,
  eventProperties: 256,
  multiValueStrings: 100,
  /** Characters. */
  identityLength: 1024,
  objectIdLength: 64,
  /** Maximum bytes of a request body in the local service (413). */
  requestBytes: 10 * 1024 * 1024,
  /** Minimum bytes of the key that signs call tokens by HS256 (RFC 7518, section 3.2). */
  callTokenKeyBytes: 32,
} as const;

/** Alphabet and length of an objectId (service-facts, Limits). */
export const objectIdPattern = /^[A-Za-z0-9()!:@$_-]{1,64}$/;
/** Alphabet of a cursor, which is put into the URL verbatim (service-facts, Cursors). */
export const cursorPattern = /^[A-Za-z0-9%_\-.~+=/]{1,65536}$/;
