/** Tests that the texts of the console read right for one thing and for several. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingTexts } from '../../console/src/pages/alerts/setting-texts.ts'
import { texts as applications } from '../../console/src/pages/applications/texts.ts'
import { texts as assets } from '../../console/src/pages/assets/texts.ts'
import { texts as endpoint } from '../../console/src/pages/endpoints/detail-texts.ts'
import { bulkTexts } from '../../console/src/pages/endpoints/texts.ts'
import { texts as jobs } from '../../console/src/pages/jobs/texts.ts'
import { texts as pipelines } from '../../console/src/pages/pipelines/texts.ts'
import { texts as platform } from '../../console/src/pages/platform/texts.ts'
import { texts as rules } from '../../console/src/pages/rules/texts.ts'
import { texts as software } from '../../console/src/pages/software/texts.ts'
import { texts as users } from '../../console/src/pages/users/texts.ts'
import { spokenDuration } from '../../console/src/parts/durations.ts'
import { texts as parts } from '../../console/src/parts/texts.ts'

test('a dialog names one object that is deleted too in the singular, and several objects in the plural', () => {
  for (const [name, one, many] of [
    [assets.also.relations, 'relation, which ends', 'relations, which end'],
    [
      settingTexts.also.open,
      'open alert of this type (it stays open)',
      'open alerts of this type (these alerts stay open)',
    ],
    [applications.also.endpoints, 'endpoint (delete it first)', 'endpoints (delete them first)'],
    [endpoint.deleteAlso.series, 'time series with all its points', 'time series with all their points'],
    [rules.also.links, /^link to a trigger or an action/, /^links to triggers and actions/],
    [software.also.applied, 'endpoint runs it', 'endpoints run it'],
    [users.also.apiKeys, 'API key of the user', 'API keys of the user'],
  ] as const) {
    if (typeof one === 'string') assert.deepEqual([name(1), name(2)], [one, many])
    else
      for (const [number, words] of [
        [1, one],
        [2, many],
      ] as const)
        assert.match(name(number), words as RegExp)
  }
})

test('a job for one endpoint and a job for several endpoints read right', () => {
  const { selected, refused, startDeletion } = bulkTexts
  assert.match(selected.deletion(1), /^This deletes 1 endpoint with its tokens, /)
  assert.match(selected.deletion(1234), /^This deletes 1,234 endpoints with their tokens, /)
  assert.deepEqual([startDeletion(1), startDeletion(2)], ['Delete 1 endpoint', 'Delete 2 endpoints'])
  assert.match(refused(1), /1 endpoint of the selection\. It is left out, /)
  assert.match(refused(2), /2 endpoints of the selection\. They are left out, /)
  assert.equal(jobs.canceledText(1), 'Canceled: 1 item was not touched.')
  assert.equal(jobs.canceledText(2), 'Canceled: 2 items were not touched.')
})

test('a duration of one unit is singular or is shown in a smaller unit', () => {
  assert.deepEqual([1000, 2000, 60_000, 120_000, 86_400_000, 172_800_000].map(spokenDuration), [
    '1 second',
    '2 seconds',
    '60 seconds',
    '2 minutes',
    '24 hours',
    '2 days',
  ])
})

test('other texts with a number read right for 1', () => {
  assert.equal(parts.more(1), '… 1 more character')
  assert.equal(parts.moreLines(1), '… 1 more line')
  assert.equal(users.accessCount(1), '1 permission')
  assert.equal(software.threshold(5, 1), 'at 5 % failures, after 1 endpoint reported')
  assert.equal(pipelines.moreSteps(1), '1 more processor is not shown.')
  assert.equal(platform.load(0.5, 1), '0.5 on 1 core')
  assert.equal(platform.idleQueues(1), '1 queue is empty.')
})
