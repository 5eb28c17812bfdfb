import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('the histogram writes cumulative buckets, sum and count for each set of labels, as Prometheus expects', async () => {
  const metrics = createMetrics()
  const histogram = metrics.quickHistogram('test_seconds', 'For tests', ['method', 'route'], [0.1, 1])
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value, 'GET', '/a"b')
  histogram.observe(2, 'PUT', '/c')
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('test_seconds'))
  assert.deepEqual(lines, [
    'test_seconds_bucket{le="0.1",method="GET",route="/a\\"b"} 2',
    'test_seconds_bucket{le="1",method="GET",route="/a\\"b"} 3',
    'test_seconds_bucket{le="+Inf",method="GET",route="/a\\"b"} 4',
    'test_seconds_sum{method="GET",route="/a\\"b"} 7.65',
    'test_seconds_count{method="GET",route="/a\\"b"} 4',
    'test_seconds_bucket{le="0.1",method="PUT",route="/c"} 0',
    'test_seconds_bucket{le="1",method="PUT",route="/c"} 0',
    'test_seconds_bucket{le="+Inf",method="PUT",route="/c"} 1',
    'test_seconds_sum{method="PUT",route="/c"} 2',
    'test_seconds_count{method="PUT",route="/c"} 1',
  ])
})
