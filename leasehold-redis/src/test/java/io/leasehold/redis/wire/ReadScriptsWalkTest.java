package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.wire.ReaderModel.Waiter;
import io.leasehold.servers.RedisServer;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Random walks of readers and writers: the scripts on a real server and {@link ReaderModel} give the same answers, and leave the
 * same holders, queue and floors. Late copies of requests of ended owner tokens are stale.
 *
 * <p>Each walk begins with a fence ahead of the clock, so that no clock matters.
 */
@Tag("full")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReadScriptsWalkTest {

    private static final int WALKS = Integer.getInteger("leasehold.readers.walks", 150);
    private static final int STEPS = 40;
    private static final int OWNERS = 6;
    /** So many that most of them stand behind a short front of the queue. */
    private static final int MANY_OWNERS = 14;

    private static final String HEARD = "lock:wake:0123456789abcdef";
    private static final String UNHEARD = "lock:wake:ffffffffffffffff";
    private static final long LONG_MILLIS = 300_000;
    /** Longer than a walk takes on any machine. */
    private static final long AHEAD = 300 * ScriptBench.SECOND;

    @RegisterExtension
    final RedisUnderTest server = new RedisUnderTest(this::configured);

    private static int drawn;

    private StatefulRedisPubSubConnection<String, String> listener;

    @BeforeEach
    void listen() {
        listener = server.client().connectPubSub(RedisURI.create(server.server().uri()));
        listener.sync().subscribe(HEARD);
    }

    @AfterEach
    void stop() {
        listener.close();
    }

    @Test
    void theScriptsFollowTheRules() {
        Map<String, Integer> seen = new TreeMap<>();
        for (int seed = 1; seed <= WALKS; seed++) {
            new Walk(seed, seen).run();
        }
        assertThat(seen.keySet())
                .contains(
                        "read yes",
                        "read stale",
                        "read queued",
                        "read held",
                        "write yes",
                        "write stale",
                        "write queued",
                        "read released",
                        "read not-ours",
                        "write released",
                        "handed to a reader",
                        "handed to a writer",
                        "downgrade yes",
                        "downgrade not-ours",
                        "downgrade stale",
                        "late",
                        "several readers",
                        "crashed",
                        "expired",
                        "dropped");
    }

    /** Says which server is tested. */
    RedisServer.Builder configured(RedisServer.Builder builder) {
        return builder;
    }

    private static String draw() {
        return String.format(Locale.ROOT, "%040x", 0x100000 + drawn++);
    }

    private final class Walk {
        private final ReaderModel model = new ReaderModel();
        /** Whether the front of the queue is short: then all waiters can be reached, and request a hand-over. */
        private final boolean isShort;

        private final ScriptBench bench;
        private final RedisCommands<String, String> redis = server.redis();
        private final Random random;
        private final Map<String, Integer> seen;
        private final List<String> steps = new ArrayList<>();
        private final String[] owners;
        private final boolean[] reads;
        private final long[] proposed;
        private final Map<String, Long> endedReaders = new HashMap<>();
        private final Map<String, Long> endedWriters = new HashMap<>();

        Walk(int seed, Map<String, Integer> seen) {
            this.isShort = seed % 3 == 0;
            this.owners = new String[isShort ? MANY_OWNERS : OWNERS];
            this.reads = new boolean[owners.length];
            this.proposed = new long[owners.length];
            this.bench = new ScriptBench(server, "reads-" + seed);
            if (isShort) {
                bench.small();
            }
            this.random = new Random(seed);
            this.seen = seen;
            for (int i = 0; i < owners.length; i++) {
                begin(i);
            }
        }

        private void begin(int who) {
            owners[who] = draw();
            reads[who] = random.nextInt(isShort ? 6 : 3) > 0;
            proposed[who] = 0;
        }

        void run() {
            model.fence = bench.now() + AHEAD;
            redis.set(bench.fence, Long.toString(model.fence), SetArgs.Builder.px(600_000));
            for (int i = 0; i < (isShort ? 3 : 1) * STEPS; i++) {
                step(random.nextInt(owners.length));
                compare();
            }
        }

        private void step(int who) {
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3, 4 -> acquire(who);
                case 5, 6, 7 -> end(who);
                case 8 -> renew(who);
                case 9 -> downgrade(who);
                case 10 -> lateCopy();
                default -> timePasses();
            }
        }

        /** So different that no two ends are close to each other by chance. */
        private long longMillis() {
            return LONG_MILLIS + 10_000L * random.nextInt(100);
        }

        private long candidate() {
            return model.fence + 1 + random.nextInt(5) - random.nextInt(3) * (long) random.nextInt(12);
        }

        private ScriptBench.Proposal proposal(Waiter caller, boolean waits) {
            ScriptBench.Proposal plain = ScriptBench.plain().ttl(longMillis()).reserve(caller.reserve());
            return waits
                    ? plain.waiting(LONG_MILLIS, caller.hears() ? HEARD : UNHEARD)
                            .claiming(caller.claims() ? longMillis() : 0)
                            .window(LONG_MILLIS * 1_000)
                    : plain;
        }

        private void acquire(int who) {
            boolean waits = random.nextInt(4) > 0;
            Waiter caller = new Waiter(
                    owners[who],
                    reads[who],
                    isShort || random.nextInt(4) > 0,
                    1 + random.nextInt(3),
                    isShort || random.nextInt(5) > 0);
            long candidate = candidate();
            proposed[who] = Math.max(proposed[who], candidate + caller.reserve() - 1);
            ScriptBench.Proposal asked = proposal(caller, waits);
            if (reads[who]) {
                same(
                        "read",
                        caller.owner(),
                        bench.readAcquire(caller.owner(), candidate, asked),
                        model.acquireAsReader(caller, candidate, waits));
                if (isShort && model.readers.containsKey(caller.owner())) {
                    adoptTokens();
                }
            } else {
                same(
                        "write",
                        caller.owner(),
                        bench.acquire(caller.owner(), candidate, asked),
                        model.acquire(caller, candidate, waits));
            }
        }

        /** Waiters behind the front are handed the lock after the caller, which the model does not know: tokens only rise. */
        private void adoptTokens() {
            Map<String, Long> tokens = bench.liveReaders();
            assertThat(tokens.keySet()).as("%s", steps).isEqualTo(model.readers.keySet());
            tokens.forEach((owner, token) ->
                    assertThat(token).as("%s", steps).isGreaterThanOrEqualTo(model.readers.get(owner)));
            assertThat(bench.storedFence()).as("%s", steps).isGreaterThanOrEqualTo(model.fence);
            model.adopt(tokens, bench.storedFence());
        }

        private void end(int who) {
            String owner = owners[who];
            long ballot = Math.max(proposed[who], tokenOf(owner));
            if (reads[who]) {
                same("read", owner, bench.readRelease(owner, ballot), model.releaseAsReader(owner, ballot));
                endedReaders.put(owner, ballot);
            } else {
                same("write", owner, bench.release(owner, ballot), model.release(owner, ballot));
                endedWriters.put(owner, ballot);
            }
            begin(who);
        }

        private long tokenOf(String owner) {
            return model.readers.getOrDefault(owner, owner.equals(model.writer) ? model.fence : 0);
        }

        private void renew(int who) {
            String owner = owners[who];
            boolean kept = bench.readRenew(owner, longMillis()).equals(List.of(1L));
            steps.add("renew " + who + " " + kept);
            assertThat(kept).as("%s", steps).isEqualTo(model.readers.containsKey(owner));
        }

        private void downgrade(int who) {
            String from = model.writer != null && random.nextInt(4) > 0 ? model.writer : owners[who];
            String reader = random.nextInt(3) == 0 && reads[who] ? owners[who] : draw();
            Waiter caller = new Waiter(reader, true, false, 1 + random.nextInt(3), true);
            long candidate = candidate();
            boolean swaps = from.equals(model.writer);
            same(
                    "downgrade",
                    reader,
                    bench.downgrade(reader, candidate, from, proposal(caller, false)),
                    model.downgrade(caller, candidate, from));
            for (int i = 0; i < owners.length; i++) {
                if (swaps && owners[i].equals(from) && model.readers.containsKey(reader)) {
                    owners[i] = reader;
                    reads[i] = true;
                    proposed[i] = candidate + caller.reserve() - 1;
                } else if (owners[i].equals(reader)) {
                    proposed[i] = Math.max(proposed[i], candidate + caller.reserve() - 1);
                }
            }
        }

        /** Finished stays finished. */
        private void lateCopy() {
            endedReaders.forEach((owner, ballot) -> {
                if (ballot > 0 && random.nextInt(4) == 0) {
                    seen.merge("late", 1, Integer::sum);
                    assertThat(bench.readAcquire(owner, ballot - random.nextInt(2))
                                    .get(0))
                            .as("%s", steps)
                            .isEqualTo("stale");
                }
            });
            endedWriters.forEach((owner, ballot) -> {
                if (ballot > 0 && random.nextInt(4) == 0) {
                    assertThat(bench.acquire(owner, ballot).get(0))
                            .as("%s", steps)
                            .isEqualTo("stale");
                }
            });
        }

        /** The end of a reader, or of the place of a waiter, as if its time was over. */
        private void timePasses() {
            if (isShort && model.writer != null && model.line.size() > 5) {
                steps.add("crash " + model.writer);
                seen.merge("crashed", 1, Integer::sum);
                model.writer = null;
                redis.del(bench.lock);
                acquire(List.of(owners).indexOf(model.line.get(0).owner()));
            } else if (random.nextBoolean() && !model.readers.isEmpty()) {
                String reader = pick(new ArrayList<>(model.readers.keySet()));
                steps.add("expire " + reader);
                seen.merge("expired", 1, Integer::sum);
                model.expire(reader);
                bench.expireReader(reader);
            } else if (!model.line.isEmpty() && !isShort) {
                String waiter = pick(model.line.stream().map(Waiter::owner).toList());
                steps.add("drop " + waiter);
                seen.merge("dropped", 1, Integer::sum);
                model.drop(waiter);
                bench.killWaiter(waiter);
            }
        }

        private String pick(List<String> some) {
            return some.get(random.nextInt(some.size()));
        }

        private void same(String kind, String owner, List<Object> reply, String expected) {
            String said = reply.get(0).equals("stale") ? "stale " + reply.get(2) : (String) reply.get(0);
            steps.add(kind + " " + owner.substring(34) + ": " + said);
            assertThat(said).as("%s", steps).isEqualTo(expected);
            seen.merge(kind + " " + reply.get(0), 1, Integer::sum);
            if (model.readers.size() > 1) {
                seen.merge("several readers", 1, Integer::sum);
            }
            for (String one : model.handed) {
                seen.merge(one.equals(model.writer) ? "handed to a writer" : "handed to a reader", 1, Integer::sum);
                for (int i = 0; i < owners.length; i++) {
                    if (owners[i].equals(one)) {
                        proposed[i] = Math.max(proposed[i], model.fence);
                    }
                }
            }
            model.handed.clear();
        }

        private void compare() {
            String value = redis.get(bench.lock);
            String writer = value == null || value.equals(ScriptBench.MARKER) ? null : value.substring(0, 40);
            assertThat(writer).as("the writer: %s", steps).isEqualTo(model.writer);
            assertThat(ScriptBench.MARKER.equals(value))
                    .as("the marker: %s", steps)
                    .isEqualTo(!model.readers.isEmpty());
            if (!model.readers.isEmpty()) {
                assertThat(bench.liveReaders()).as("%s", steps).isEqualTo(model.readers);
                assertThat(Math.abs(bench.markerEnds() - bench.lastReaderEnds()))
                        .as("the lock ends with its last reader: %s", steps)
                        .isLessThan(ScriptBench.SECOND);
            }
            assertThat(bench.storedFence()).as("%s", steps).isEqualTo(model.fence);
            assertThat(isShort ? bench.everybody() : bench.everybodyAlive())
                    .as("%s", steps)
                    .isEqualTo(model.line.stream().map(Waiter::owner).toList());
        }
    }
}
