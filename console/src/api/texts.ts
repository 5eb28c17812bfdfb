export const texts = {
  unreachable: 'The platform does not answer. It may be restarting, or the network is down.',
  interrupted: 'The connection ended before the answer was complete.',
  timeout: 'The platform took too long to answer.',
  tooMany: 'Too many requests at the moment. The platform asks to wait.',
  unavailable: 'The platform cannot answer at the moment: it is starting, stopping, or its database is unreachable.',
  badValue: (problem: string) => `The value ${problem}.`,
  notPossible: (description: string) => `This value is not possible. ${description}`,
}
