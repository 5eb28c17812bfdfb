/** Metrics in Prometheus's text format. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

export interface QuickHistogram {
  /** Adds a value. `labels` contains the values of the labels, in the order in which the labels were declared. */
  observe(value: number, ...labels: (string | number)[]): void
  /** Returns an observer for fixed labels, for repeated use. */
  withLabels(...labels: (string | number)[]): (value: number) => void
}

export interface Metrics {
  counter(name: string, help: string, labels?: string[]): Counter
  gauge(name: string, help: string, labels?: string[], collect?: (gauge: Gauge) => void): Gauge
  /** Creates a histogram that is cheap enough for every request. The histogram of prom-client takes 5 µs for each value. */
  quickHistogram(name: string, help: string, labels: string[], buckets: number[]): QuickHistogram
  text(): Promise<string>
  contentType: string
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'waypost_' })
  const common = { registers: [registry] }
  const histogramTexts: (() => string)[] = []
  return {
    // If several parts of a process count the same thing, they share the counter.
    counter: (name, help, labelNames = []) =>
      (registry.getSingleMetric(name) as Counter | undefined) ?? new Counter({ ...common, name, help, labelNames }),
    gauge: (name, help, labelNames = [], collect) =>
      new Gauge({
        ...common,
        name,
        help,
        labelNames,
        ...(collect && {
          collect() {
            collect(this)
          },
        }),
      }),
    quickHistogram(name, help, labels, buckets) {
      const histogram = createQuickHistogram(name, help, labels, buckets)
      histogramTexts.push(histogram.text)
      return histogram
    },
    text: async () => [await registry.metrics(), ...histogramTexts.map((text) => text())].join('\n'),
    contentType: registry.contentType,
  }
}

interface Series {
  labels: (string | number)[]
  counts: number[]
  sum: number
  count: number
}

const escapeLabel = (value: string | number) =>
  String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

/** Creates a histogram that writes Prometheus's text format: buckets are cumulative and end with +Inf. */
function createQuickHistogram(name: string, help: string, labelNames: string[], buckets: number[]) {
  const seriesByKey = new Map<string, Series>()

  function linesOf({ labels, counts, sum, count }: Series): string[] {
    const labelText = labelNames.map((label, index) => `${label}="${escapeLabel(labels[index]!)}"`).join(',')
    let countSoFar = 0
    const cumulative = buckets.map((limit, index) => {
      countSoFar += counts[index]!
      return `${name}_bucket{le="${limit}",${labelText}} ${countSoFar}`
    })
    return [
      ...cumulative,
      `${name}_bucket{le="+Inf",${labelText}} ${count}`,
      `${name}_sum{${labelText}} ${sum}`,
      `${name}_count{${labelText}} ${count}`,
    ]
  }

  function seriesOf(labels: (string | number)[]): Series {
    const key = labels.join(' ')
    let series = seriesByKey.get(key)
    if (!series) {
      series = { labels, counts: buckets.map(() => 0), sum: 0, count: 0 }
      seriesByKey.set(key, series)
    }
    return series
  }

  function add(series: Series, value: number) {
    let index = 0
    while (index < buckets.length && value > buckets[index]!) index++
    if (index < buckets.length) series.counts[index]!++
    series.sum += value
    series.count++
  }

  return {
    observe: (value: number, ...labels: (string | number)[]) => add(seriesOf(labels), value),
    withLabels(...labels: (string | number)[]) {
      const series = seriesOf(labels)
      return (value: number) => add(series, value)
    },
    text: () =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...[...seriesByKey.values()].flatMap(linesOf), ''].join(
        '\n',
      ),
  }
}
