// Records that bench/service.js uploads: random by position, and the same in every run.

/** Neighbours lie far apart in an index. */
export function identityOf(number) {
  const mixed = Math.imul(number ^ 0x5bd1e995, 0x9e3779b1) >>> 0;
  return `user-${mixed.toString(36)}-${number.toString(36)}`;
}

/** Returns the row that the service stores for profileText(number): JSON texts, except addresses. */
export function profileRow(number) {
  const identity = identityOf(number);
  const points = Math.imul(number, 0x9e3779b1) >>> 18;
  return {
    identity,
    name: `"Maria Example ${number % 997}"`,
    email: `${identity}@example.test`,
    phone: `+9198${10_000_000 + (number % 90_000_000)}`,
    data:
      `"Gender":"F","DOB":"$D_631152000","City":"São Paulo","Plan":"gold","Points":${points},` +
      `"Last store":"Store ${points % 50}","Referrer":"newsletter","MSG-sms":true,"MSG-email":${points % 2 === 0}`,
  };
}

/** An upload record of about 350 bytes. */
export function profileText(number) {
  const { identity, name, email, phone, data } = profileRow(number);
  return (
    `{"identity":"${identity}","type":"profile","profileData":` +
    `{"Name":${name},"Email":"${email}","Phone":"${phone}",${data}}}`
  );
}

/** An event of the user with the number, in one of 58 days. */
export function eventText(user, number) {
  const ts = 1_698_800_000 + ((Math.imul(number, 0x9e3779b1) >>> 0) % 5_000_000);
  return (
    `{"identity":"${identityOf(user)}","type":"event","evtName":"Viewed","ts":${ts},` +
    `"evtData":{"Item":"Blue shirt","Price":19.90,"Quantity":${1 + (ts % 5)},"Category":"Clothes"}}`
  );
}
