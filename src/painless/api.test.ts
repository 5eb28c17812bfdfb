/** Tests classes of the public API that language.test.ts does not cover. The expected results are the results of Java. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScriptError } from './errors.ts'
import { startMeter } from './meter.ts'
import { compileScript } from './script.ts'
import { textOf } from './text.ts'
import { isJavaArray } from './values.ts'

const run = (source: string): string => {
  const script = compileScript(source, { variables: [] })
  startMeter()
  const result = script.run()
  return isJavaArray(result) ? textOf(result.items) : textOf(result)
}

const cases: Record<string, [source: string, expected: string][]> = {
  UUID: [
    ['UUID a = UUID.randomUUID(); UUID b = UUID.fromString(a.toString()); return a == b && a.version() == 4', 'true'],
    ['UUID.nameUUIDFromBytes(new byte[] {(byte) 97}).toString()', '0cc175b9-c0f1-36a8-b1c3-99e269772661'],
    ["UUID.fromString('0-0-0-0-1').getLeastSignificantBits()", '1'],
    ['new UUID(1L, -1L).toString()', '00000000-0000-0001-ffff-ffffffffffff'],
    ["def m = [UUID.fromString('0-0-0-0-1'): 5]; m[UUID.fromString('0-0-0-0-1')]", '5'],
    ["UUID.fromString('1-0-0-0-1').compareTo(UUID.fromString('1-0-0-0-2'))", '-1'],
  ],
  BitSet: [
    ['BitSet b = new BitSet(); b.set(3); b.set(5, 8); b.set(70, true); b', '{3, 5, 6, 7, 70}'],
    ['BitSet b = new BitSet(); b.set(5, 8); b.cardinality() + b.length() + b.nextClearBit(5)', '19'],
    ['BitSet b = BitSet.valueOf(new long[] {5L}); BitSet c = new BitSet(); c.set(2); b.and(c); b == c', 'true'],
    ['BitSet b = new BitSet(16); b.set(1); b.set(9); b.toByteArray()', '[2, 2]'],
    ['BitSet b = new BitSet(); b.set(0, 4); b.flip(1); b.clear(3); b.stream().sum()', '2'],
    ['BitSet b = new BitSet(); b.set(2); b.previousSetBit(9) + b.nextSetBit(3)', '1'],
  ],
  'String.format and digests': [
    ["String.format('%05.2f|%-4s|%4s|%,d', new def[] {3.14159, 'ab', 'cd', 1234567})", '03.14|ab  |  cd|1,234,567'],
    ["String.format('%x %X %o %+d %c %b %%', new def[] {255, 255, 8, 5, (char) 'z', true})", 'ff FF 10 +5 z true %'],
    ["String.format(Locale.ROOT, '%2$s %1$s', new def[] {'a', 3L})", '3 a'],
    ["String.format('%.0f %.1f %.2f %e', new def[] {0.5, 0.25, 1.005, 12345.678})", '1 0.3 1.01 1.234568e+04'],
    ["Normalizer.normalize('\u00e9', Normalizer.Form.NFD).length()", '2'],
    ["def x = 'a'; x += null; x", 'anull'],
    ["['a': 1].collect(new HashSet(), (k, v) -> k + v)", '[a1]'],
    ["'abc'.sha1()", 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ["'abc'.sha256().substring(0, 16)", 'ba7816bf8f01cfea'],
  ],
  'bits of numbers': [
    ['Double.doubleToLongBits(1.0)', '4607182418800017408'],
    ['Double.longBitsToDouble(4607182418800017408L)', '1.0'],
    ['Double.toHexString(3.0)', '0x1.8p1'],
    ['Float.intBitsToFloat(Float.floatToIntBits(1.5f))', '1.5'],
    ['Long.reverseBytes(1L) + Integer.reverseBytes(1)', '72057594054705152'],
    ['Long.rotateLeft(1L, 63)', '-9223372036854775808'],
    ['Long.divideUnsigned(-1L, 2L)', '9223372036854775807'],
    ['int[] a = new int[] {1, 2, 3}; int[] b = new int[5]; System.arraycopy(a, 0, b, 1, 3); b', '[0, 1, 2, 3, 0]'],
  ],
  Character: [
    ["Character.getType((int) (char) 'A') == Character.UPPERCASE_LETTER", 'true'],
    ['Character.toChars(128512).length + Character.charCount(65)', '3'],
    ["Character.isSurrogate((char) 'a')", 'false'],
    ["Character.codePointBefore('abc', 2)", '98'],
  ],
  'BigDecimal and BigInteger': [
    ["new BigDecimal('10').divide(new BigDecimal('3'), MathContext.DECIMAL32)", '3.333333'],
    ["new BigDecimal('10').divide(new BigDecimal('4'), MathContext.DECIMAL32)", '2.5'],
    ["new BigDecimal('123.456').round(new MathContext(4))", '123.5'],
    ["new BigDecimal('7.5').divideAndRemainder(new BigDecimal('2'))", '[3.0, 1.5]'],
    ["new BigDecimal('12.5').movePointLeft(2)", '0.125'],
    ["new BigInteger('12').gcd(new BigInteger('18'))", '6'],
    ["new BigInteger('3').modPow(new BigInteger('200'), new BigInteger('13'))", '9'],
    ["new BigInteger('255').toByteArray()", '[0, -1]'],
    ["RoundingMode.valueOf('HALF_UP')", 'HALF_UP'],
  ],
  DecimalFormat: [
    ["new DecimalFormat('#.##').format(3.14159)", '3.14'],
    ["new DecimalFormat('#.#').format(0.35)", '0.3'],
    ['new DecimalFormat("0\'\'").format(7)', "7'"],
    ["new DecimalFormat(\"'#'0'o''clock'\").format(7)", "#7o'clock"],
    ["new DecimalFormat('#.#').format(0.25)", '0.2'],
    ["new DecimalFormat('#,##0.0').format(1234567.89)", '1,234,567.9'],
    ["new DecimalFormat('0%').format(0.256)", '26%'],
    ["new DecimalFormat('000').format(7)", '007'],
    ["new DecimalFormat('0.##E0').format(12345)", '1.23E4'],
    ["new DecimalFormat('0;(0)').format(-3)", '(3)'],
    ["DecimalFormat f = new DecimalFormat('#.##'); f.setRoundingMode(RoundingMode.HALF_UP); f.format(2.345)", '2.35'],
    ["NumberFormat.getInstance().parse('1,234.5').doubleValue()", '1234.5'],
  ],
  'queues and sorted collections': [
    ['PriorityQueue q = new PriorityQueue([5, 1, 3]); [q.poll(), q.poll(), q.remove()]', '[1, 3, 5]'],
    ['def q = new PriorityQueue((a, b) -> b - a); q.add(5); q.add(9); q.offer(1); q.peek()', '9'],
    ['new TreeMap((a, b) -> b - a).comparator() != null', 'true'],
    ['new Random(42L).nextInt()', '-1170105035'],
    ['new Random(42L).nextDouble()', '0.7275636800328681'],
    ["new TreeMap(['a': 1, 'b': 2, 'c': 3]).headMap('b', true)", '{a=1, b=2}'],
    ["new TreeMap(['a': 1, 'b': 2, 'c': 3]).subMap('a', 'c')", '{a=1, b=2}'],
    ["NavigableMap m = new TreeMap(['a': 1, 'b': 2]); m.descendingKeySet()", '[b, a]'],
    ['NavigableSet s = new TreeSet([3, 1, 2]); s.headSet(2, true)', '[1, 2]'],
    ['def l = [1, 2, 3]; def i = l.listIterator(); i.next(); i.set(9); i.add(7); l', '[9, 7, 2, 3]'],
    ['Collections.indexOfSubList([1, 2, 3, 2, 3], [2, 3])', '1'],
    ['Stream.builder().add(1).add(2).build().map(x -> x + 1).collect(Collectors.toList())', '[2, 3]'],
  ],
  'adjusted dates and fields': [
    ["LocalDate.parse('2024-02-10').with(TemporalAdjusters.lastDayOfMonth())", '2024-02-29'],
    ['LocalDate.of(2024, 2, 10).with(TemporalAdjusters.next(DayOfWeek.MONDAY))', '2024-02-12'],
    ['LocalDate.of(2024, 2, 10).with(TemporalAdjusters.lastInMonth(DayOfWeek.FRIDAY))', '2024-02-23'],
    [
      "ZonedDateTime.parse('2024-03-31T10:15:30+02:00[Europe/Berlin]').with(LocalTime.MIDNIGHT)",
      '2024-03-31T00:00+01:00[Europe/Berlin]',
    ],
    [
      "ZonedDateTime.parse('2024-10-27T02:30:00.5+02:00[Europe/Berlin]').withLaterOffsetAtOverlap()",
      '2024-10-27T02:30:00.500+01:00[Europe/Berlin]',
    ],
    [
      "ZonedDateTime.parse('2024-10-27T02:30:00+01:00[Europe/Berlin]').withEarlierOffsetAtOverlap()",
      '2024-10-27T02:30+02:00[Europe/Berlin]',
    ],
    [
      "ZonedDateTime.parse('2024-10-27T02:30:00+01:00[Europe/Berlin]').withLaterOffsetAtOverlap()",
      '2024-10-27T02:30+01:00[Europe/Berlin]',
    ],
    [
      "ZonedDateTime.parse('2024-10-27T03:00:00+01:00[Europe/Berlin]').withEarlierOffsetAtOverlap()",
      '2024-10-27T03:00+01:00[Europe/Berlin]',
    ],
    [
      "ZonedDateTime.parse('2024-04-07T01:45:00+11:00[Australia/Lord_Howe]').withLaterOffsetAtOverlap()",
      '2024-04-07T01:45+10:30[Australia/Lord_Howe]',
    ],
    [
      "ZonedDateTime.parse('2024-04-07T01:45:00+10:30[Australia/Lord_Howe]').withEarlierOffsetAtOverlap()",
      '2024-04-07T01:45+11:00[Australia/Lord_Howe]',
    ],
    [
      "ZonedDateTime.parse('2024-04-07T01:15:00+11:00[Australia/Lord_Howe]').withLaterOffsetAtOverlap()",
      '2024-04-07T01:15+11:00[Australia/Lord_Howe]',
    ],
    [
      "ZonedDateTime.parse('2024-10-27T01:30:00+02:00[Antarctica/Troll]').withLaterOffsetAtOverlap()",
      '2024-10-27T01:30Z[Antarctica/Troll]',
    ],
    [
      "LocalDateTime.from(DateTimeFormatter.ofPattern('yyyy-MM-dd HH:mm').parse('2024-01-02 03:04'))",
      '2024-01-02T03:04',
    ],
    ['LocalDate.of(2024, 5, 6).get(IsoFields.QUARTER_OF_YEAR)', '2'],
    ['LocalDate.of(2024, 12, 30).get(IsoFields.WEEK_OF_WEEK_BASED_YEAR)', '1'],
    ['LocalDate.of(2024, 12, 30).get(WeekFields.ISO.weekBasedYear())', '2025'],
    ['LocalDate.of(2024, 12, 30).get(ChronoField.ALIGNED_WEEK_OF_YEAR)', '53'],
    ["YearMonth.parse('2024-11').plusMonths(3).atEndOfMonth()", '2025-02-28'],
    ['Year.isLeap(2024L)', 'true'],
    ["Period.parse('P1Y14M3W4D').normalized()", 'P2Y2M25D'],
    ["TimeZone.getTimeZone('Europe/Berlin').getRawOffset()", '3600000'],
  ],
  DateTimeFormatterBuilder: [
    [
      `def f = new DateTimeFormatterBuilder().appendPattern('yyyy-MM-dd').optionalStart().appendLiteral('T').appendPattern('HH:mm')
        .optionalEnd().parseDefaulting(ChronoField.HOUR_OF_DAY, 0).parseDefaulting(ChronoField.MINUTE_OF_HOUR, 0).toFormatter();
        LocalDateTime.parse('2024-05-06', f).toString() + ' ' + LocalDateTime.parse('2024-05-06T07:08', f)`,
      '2024-05-06T00:00 2024-05-06T07:08',
    ],
  ],
  Locale: [["Locale.GERMANY.toString() + Locale.forLanguageTag('fr-CA').getCountry()", 'de_DECA']],
}
for (const [title, rows] of Object.entries(cases))
  test(`the methods of ${title} have the results of Java`, () => {
    for (const [source, expected] of rows) assert.equal(run(source), expected, source)
  })

test('wrong values throw the same exceptions as in Java', () => {
  const failures: [source: string, javaClass: string][] = [
    ["UUID.fromString('not a UUID')", 'IllegalArgumentException'],
    ["String.format('%d', new def[] {1.5})", 'IllegalFormatConversionException'],
    ["String.format('%s', new def[] {})", 'MissingFormatArgumentException'],
    ["String.format('%99999d', new def[] {1})", 'IllegalFormatWidthException'],
    ['new BitSet().get(-1)', 'IndexOutOfBoundsException'],
    ['new BitSet().set(100000000)', 'OutOfMemoryError'],
    ["new BigDecimal('1.5').intValueExact()", 'ArithmeticException'],
    ["new DecimalFormat('0.#0')", 'IllegalArgumentException'],
    ["NumberFormat.getInstance().parse('x')", 'ParseException'],
    ['Collections.shuffle(Collections.unmodifiableList([1, 2]))', 'UnsupportedOperationException'],
    ["LocalDate.from(LocalTime.parse('03:04:05'))", 'DateTimeException'],
    ['YearMonth.of(2024, 13)', 'DateTimeException'],
  ]
  for (const [source, javaClass] of failures)
    assert.throws(
      () => run(source),
      (error: unknown) => error instanceof ScriptError && error.javaClass.endsWith(javaClass),
      source,
    )
})
