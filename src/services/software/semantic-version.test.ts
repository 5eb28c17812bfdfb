import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import semver from 'semver'
import { comparePrecedence, isSemanticVersion } from './semantic-version.ts'

test('a version is accepted if it is a semantic version by the standard, even if its numbers are long', () => {
  const right = [
    ...['0.0.4', '1.1.2-prerelease+meta', '1.1.2+meta-valid', '1.0.0-alpha0.valid', '1.0.0-0A.is.legal'],
    ...['2.0.0-rc.1+build.123', '1.0.0+0.build.1-rc.10000aaa-kk-0.1', '1.2.3----RC-SNAPSHOT.12.9.1--.12', '1.0.0--'],
    ...['99999999999999999999999.999999999999999999.99999999999999999', '1.0.20261118103840123'],
  ]
  const wrong = [
    ...[
      '1',
      '1.2',
      '1.2.3-0123',
      '1.2.3-0123.0123',
      '1.1.2+.123',
      '+invalid',
      '-1.0.3',
      'alpha',
      '1.2.3.DEV',
      'v1.2.3',
    ],
    ...[
      '1.2.3-',
      '1.2.3+',
      '01.1.1',
      '1.01.1',
      '1.1.01',
      '1.2-SNAPSHOT',
      '1.0.0-alpha..1',
      '1.2.3 ',
      '1.2.3\n',
      '1.2.3-é',
    ],
    ...['9.8.7+meta+meta', '1.0.0-alpha_beta', ''],
  ]
  for (const version of right) assert.equal(isSemanticVersion(version), true, version)
  for (const version of wrong) assert.equal(isSemanticVersion(version), false, version)
})

test('versions have the precedence of the standard, even if their numbers are long', () => {
  const ascending = [
    ...[
      '1.0.0-0',
      '1.0.0-9007199254740993',
      '1.0.0-9007199254740994',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
    ],
    ...[
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.9007199254740993',
      '1.0.9007199254740994',
      '1.1.0',
    ],
    ...['10.0.0', '99999999999999999999.0.0'],
  ]
  assert.deepEqual(ascending.toReversed().toSorted(comparePrecedence), ascending)
  assert.equal(comparePrecedence('1.0.0+a', '1.0.0+b'), 0)
})

test('versions with short numbers compare as in the package semver', () => {
  const number = fc.nat(20).map(String)
  const identifier = fc.oneof(number, fc.stringMatching(/^[a-b-][0-1a-b-]{0,2}$/))
  const version = fc
    .tuple(number, number, number, fc.array(identifier, { maxLength: 3 }))
    .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre.length > 0 ? `-${pre.join('.')}` : ''}`)
  fc.assert(
    fc.property(version, version, (one, other) => {
      assert.equal(Math.sign(comparePrecedence(one, other)), semver.compare(one, other))
    }),
    { numRuns: 500 },
  )
})
