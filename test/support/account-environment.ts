/** The environment of a command whose account is at a server of the test. */
export const accountAt = (
  url: string,
  passcode: string,
  accountId = 'ACCOUNT-1',
): Record<string, string> => ({
  ENGAGECTL_BASE_URL: url,
  ENGAGECTL_ACCOUNT_ID: accountId,
  ENGAGECTL_PASSCODE: passcode,
});
