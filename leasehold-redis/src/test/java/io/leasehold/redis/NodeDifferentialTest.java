package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.SuccessorRequest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests that the scripts on a real server and their model in Java give the same answers to the same requests.
 *
 * <p>Each walk begins with a fence that is ahead of both clocks, so that answers depend only on the order of requests.
 * A walk that takes so long that a clock comes near the fence proves nothing and is repeated.
 */
@Tag("full")
class NodeDifferentialTest {

    private static final int WALKS = Integer.getInteger("leasehold.differential.walks", 150);
    private static final int STEPS = 40;
    private static final int OWNERS = 5;
    private static final long AHEAD_MICROS = 6_000_000;
    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(5);
    static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static final long BOUND_MICROS = 7_500_000;
    private static final long QUARANTINE_MICROS = 3_000_000;

    private LockRuntime runtime;

    @BeforeEach
    void open() {
        runtime = new SystemLockRuntime();
    }

    @AfterEach
    void close() {
        runtime.close();
    }

    private DifferentialSubject ofScripts() {
        String uri = "redis://127.0.0.1:" + SERVER.server().port();
        return new DifferentialSubject(RedisStore.at(uri).openNode(runtime));
    }

    /** The same server as a member of a set, which has other scripts. */
    private DifferentialSubject ofMemberScripts() {
        String uri = "redis://127.0.0.1:" + SERVER.server().port();
        Deployment where = Deployment.parse(StoreUri.parse(uri));
        NodeOpening opening = new NodeOpening(where, LettuceDriver.of(where, new DriverThreads()), runtime);
        assertThat(NodeBench.answer(opening.outcome()).failure()).isNull();
        return new DifferentialSubject(opening.node(NodeSettings.ofMember(RedisGuarantees.single(true))));
    }

    @Test
    void scriptsAndModelAgree() {
        int handOvers = 0;
        Map<String, Integer> seen = new TreeMap<>();
        try (DifferentialSubject scripts = ofScripts();
                DifferentialSubject model = new DifferentialSubject(new InMemoryNode(runtime))) {
            handOvers = walks(seed -> new Walk(seed, scripts, model, false, seen));
        }
        assertThat(seen.keySet()).contains("First", "NotWaiting", "NotOurs");
        assertThat(handOvers).as("hand-overs that were compared").isGreaterThan(WALKS);
    }

    /** A member of a set: its birth, its configuration, its ballots and ends. Each walk begins with an empty member. */
    @Test
    void scriptsAndModelOfAMemberAgree() {
        Map<String, Integer> seen = new TreeMap<>();
        try (DifferentialSubject scripts = ofMemberScripts()) {
            walks(seed -> {
                SERVER.server().call("FLUSHALL");
                return new Walk(seed, scripts, new DifferentialSubject(new InMemoryNode(runtime)), true, seen);
            });
        }
        assertThat(seen.keySet())
                .as("every answer was compared")
                .contains("Unborn", "OtherSet", "Quarantined", "Yes", "Stale", "Held", "Refused", "born", "not born");
    }

    /** Runs the required number of conclusive walks; returns the number of compared hand-overs. */
    private static int walks(LongFunction<Walk> walkOf) {
        int said = 0;
        int handOvers = 0;
        for (long seed = 1; said < WALKS; seed++) {
            assertThat(seed).as("walks that took too long").isLessThan(3L * WALKS);
            Walk walk = walkOf.apply(seed);
            if (walk.run()) {
                said++;
                handOvers += walk.compared.size();
            }
        }
        return handOvers;
    }

    private final class Walk {
        private final DifferentialSubject scripts;
        private final DifferentialSubject model;
        private final boolean member;
        private final Map<String, Integer> seen;
        private final Random random;
        private final String where;
        private final LockName name;
        private final List<OwnerToken> owners = new ArrayList<>();
        /** The owner tokens of readers; those of writers are the others. */
        private final Set<OwnerToken> readers = new HashSet<>();

        private final List<String> steps = new ArrayList<>();
        private final long[] proposed = new long[OWNERS];
        private long top;
        private long bornMicros = 1_000_000_000;
        private final Set<String> compared = new HashSet<>();

        Walk(
                long seed,
                DifferentialSubject scripts,
                DifferentialSubject model,
                boolean member,
                Map<String, Integer> seen) {
            this.scripts = scripts;
            this.model = model;
            this.member = member;
            this.seen = seen;
            random = new Random(seed);
            where = "seed " + seed;
            name = LockName.exactly("walk-" + seed);
            for (int i = 0; i < OWNERS; i++) {
                owners.add(draw());
            }
        }

        private OwnerToken draw() {
            OwnerToken owner = OwnerToken.draw(runtime);
            if (!member && random.nextBoolean()) {
                readers.add(owner);
            }
            return owner;
        }

        private LockName nameOf(OwnerToken owner) {
            return readers.contains(owner) ? name.asRead() : name;
        }

        /** Runs the walk; returns whether the clocks stayed behind the fence, so that the walk is conclusive. */
        boolean run() {
            long start = Math.max(scripts.micros(), model.micros()) + AHEAD_MICROS;
            top = start;
            scripts.handed.clear();
            model.handed.clear();
            List<String> differences = new ArrayList<>();
            both("raise", end(OwnerToken.draw(runtime), start), differences);
            for (int i = 0; i < STEPS; i++) {
                step(differences);
            }
            boolean inTime = Math.max(scripts.micros(), model.micros()) < start - AHEAD_MICROS / 4;
            if (inTime) {
                assertThat(differences).as("%s: %s", where, steps).isEmpty();
            }
            return inTime;
        }

        private void step(List<String> differences) {
            int who = random.nextInt(OWNERS);
            OwnerToken owner = owners.get(who);
            // Also use the granted token, with which a holder releases.
            long ballot = !member && random.nextBoolean() ? proposed[who] : 0;
            boolean absurd = member && random.nextInt(20) == 0;
            long candidate = (absurd ? 2 * BOUND_MICROS : 0)
                    + top
                    + 1
                    - (random.nextInt(4) == 0 ? random.nextInt(30) : 0)
                    + random.nextInt(20);
            int reserve = random.nextInt(3) == 0 ? 1 + random.nextInt(8) : 1;
            int kind = random.nextInt(member ? 10 : 9);
            if (kind < 4) {
                proposed[who] = candidate;
            }
            switch (kind) {
                case 8 -> {
                    if (member) {
                        both("birth", birth(), differences);
                    } else {
                        downgrade(who, candidate, reserve, differences);
                    }
                }
                case 9 -> both("birth", birth(), differences);
                case 0 -> both("try " + who, propose(owner, candidate, reserve, false, 0), differences);
                case 1, 2, 3 -> both("wait " + who, propose(owner, candidate, reserve, true, LONG_NANOS), differences);
                case 4 -> both("renew " + who, renew(owner), differences);
                case 5 -> {
                    if (random.nextInt(3) == 0) {
                        both("force", subject -> answered(subject.node.admin().forceRelease(name, null)), differences);
                    } else if (!member) {
                        both("name " + who, nameSuccessor(owner), differences);
                    }
                }
                default -> {
                    both("end " + who, end(owner, ballot > 0 ? ballot : absurd ? top : candidate), differences);
                    proposed[who] = 0;
                    owners.set(who, draw());
                }
            }
            both("holder", this::holder, differences);
            if (!member) {
                both("waiters", this::waiters, differences);
            }
            if (differences.isEmpty() && !member) {
                compareHandOvers(differences);
            }
        }

        /** Puts a waiter first, whether the owner token holds the lock or not. */
        private Function<DifferentialSubject, String> nameSuccessor(OwnerToken owner) {
            String heir = "host/1/" + random.nextInt(OWNERS + 1);
            SuccessorRequest request = new SuccessorRequest(name, owner, heir, TIMEOUT_NANOS);
            return subject -> {
                String told = NodeBench.answer(subject.node.nameSuccessor(request))
                        .getClass()
                        .getSimpleName();
                seen.merge(told, 1, Integer::sum);
                return told;
            };
        }

        /** A writer becomes a reader, or an owner token that has nothing tries to. */
        private void downgrade(int who, long candidate, int reserve, List<String> differences) {
            OwnerToken reader = random.nextInt(3) == 0 ? owners.get(random.nextInt(OWNERS)) : OwnerToken.draw(runtime);
            OwnerToken writer = owners.get(who);
            if (reader.equals(writer)) {
                return;
            }
            AcquireRequest request =
                    AcquireRequest.exclusive(List.of(name.asRead()), reader, "host/1/d", LONG_NANOS, TIMEOUT_NANOS);
            top = Math.max(top, candidate + reserve - 1);
            Ballot ballot = new Ballot(request, candidate, reserve);
            both(
                    "downgrade " + who,
                    subject -> said(subject, NodeBench.answer(subject.node.downgrade(ballot, writer))),
                    differences);
            if (!owners.contains(reader) && steps.get(steps.size() - 1).endsWith("Yes")) {
                readers.add(reader);
                owners.set(who, reader);
            }
        }

        private void both(String what, Function<DifferentialSubject, String> act, List<String> differences) {
            String real = act.apply(scripts);
            String modelled = act.apply(model);
            steps.add(what + ": " + real);
            if (!real.equals(modelled)) {
                differences.add(what + ": scripts say " + real + ", the model says " + modelled);
            }
        }

        private Function<DifferentialSubject, String> propose(
                OwnerToken owner, long candidate, int reserve, boolean waits, long claimNanos) {
            AcquireRequest plain = AcquireRequest.exclusive(
                    List.of(nameOf(owner)), owner, "host/1/" + owners.indexOf(owner), LONG_NANOS, TIMEOUT_NANOS);
            AcquireRequest request = waits ? plain.waiting(LONG_NANOS) : plain;
            if (candidate < top + BOUND_MICROS) {
                top = Math.max(top, candidate + reserve - 1);
            }
            Ballot ballot = new Ballot(request, candidate, reserve, member ? 0 : claimNanos);
            if (!member) {
                return subject -> said(subject, NodeBench.answer(subject.node.acquire(ballot)));
            }
            // The age of its memory is below or above the quarantine.
            Membership membership = new Membership(
                    random.nextInt(8) == 0 ? "others" : "set",
                    bornMicros + random.nextLong(2 * QUARANTINE_MICROS),
                    random.nextInt(3) == 0 ? QUARANTINE_MICROS : 0,
                    BOUND_MICROS,
                    random.nextBoolean() ? Membership.Persistence.VOLATILE : Membership.Persistence.DURABLE);
            return subject -> said(subject, NodeBench.answer(subject.node.acquire(ballot, membership)));
        }

        private Function<DifferentialSubject, String> birth() {
            int kind = random.nextInt(4);
            String set = random.nextInt(8) == 0 ? "others" : "set";
            bornMicros += random.nextInt(1_000_000);
            return subject -> {
                String nonce = kind == 0 ? "another life" : subject.nonce;
                Birth birth = kind == 1
                        ? Birth.declared(set, TIMEOUT_NANOS)
                        : new Birth(nonce, bornMicros, set, TIMEOUT_NANOS);
                NodeReply reply = NodeBench.answer(subject.node.birth(birth));
                String told = reply instanceof NodeReply.Refused ? "not born" : "born";
                seen.merge(told, 1, Integer::sum);
                return told + (reply instanceof NodeReply.Failed failed ? " " + failed : "");
            };
        }

        private String said(DifferentialSubject subject, NodeReply reply) {
            seen.merge(reply.getClass().getSimpleName(), 1, Integer::sum);
            if (reply instanceof NodeReply.Unborn unborn) {
                subject.nonce = unborn.nonce();
                return "unborn";
            } else if (reply instanceof NodeReply.OtherSet other) {
                return "of " + other.configuration();
            } else if (reply instanceof NodeReply.Quarantined young) {
                return "young for " + young.leftNanos();
            } else if (reply instanceof NodeReply.Stale stale) {
                top = Math.max(top, stale.floor());
                return "stale " + stale.floor();
            } else if (reply instanceof NodeReply.Held held) {
                return "held by " + shown(held.holder()) + (held.queued() && !member ? ", queued" : "");
            }
            return reply instanceof NodeReply.Refused
                    ? "refused"
                    : reply.getClass().getSimpleName();
        }

        private String shown(Holder holder) {
            if (holder == null) {
                return "?";
            }
            // That of all readers together may be shown without a token.
            return holder.id().equals("readers") ? holder.id() : holder.id() + " " + holder.fencingToken();
        }

        private Function<DifferentialSubject, String> end(OwnerToken owner, long ballot) {
            // The release of a holder tries the script of the common case first.
            ReleaseRequest.Kind kind = random.nextBoolean() ? ReleaseRequest.Kind.UNDO : ReleaseRequest.Kind.RELEASE;
            ReleaseRequest request = new ReleaseRequest(List.of(nameOf(owner)), owner, ballot, kind, TIMEOUT_NANOS);
            top = Math.max(top, ballot);
            return subject -> {
                ReleaseReply reply = NodeBench.answer(subject.node.release(request));
                return reply.getClass().getSimpleName();
            };
        }

        private Function<DifferentialSubject, String> renew(OwnerToken owner) {
            RenewBatch batch =
                    new RenewBatch(List.of(new RenewBatch.Item(nameOf(owner), owner, LONG_NANOS)), TIMEOUT_NANOS);
            return subject -> {
                RenewReply.Item item =
                        NodeBench.answer(subject.node.renew(batch)).items().get(0);
                return item.getClass().getSimpleName();
            };
        }

        private String answered(CompletableFuture<Boolean> future) {
            return String.valueOf(NodeBench.answer(future));
        }

        /** The holder and its token. */
        private String holder(DifferentialSubject subject) {
            Holder holder = NodeBench.answer(subject.node.admin().describe(name))
                    .map(HeldLock::holder)
                    .orElse(null);
            if (holder == null) {
                return "free";
            }
            if (holder.id().equals("readers")) {
                List<Holder> all = NodeBench.answer(subject.node.admin().readers(name, 100));
                all.forEach(reader -> top = Math.max(top, reader.fencingToken().orElse(0)));
                // After a late copy with a smaller ballot, the tokens may be shown differently.
                return all.stream().map(Holder::id).sorted().toList().toString();
            }
            top = Math.max(top, holder.fencingToken().orElse(0));
            return shown(holder);
        }

        /** The waiters in their order. */
        private String waiters(DifferentialSubject subject) {
            return NodeBench.answer(subject.node.admin().waiters(name, OWNERS + 1)).stream()
                    .map(QueuedWaiter::holderId)
                    .toList()
                    .toString();
        }

        /** The server's push has its own connection and may arrive after the answer. */
        private void compareHandOvers(List<String> differences) {
            model.handed.forEach((attempt, handOver) -> {
                if (compared.add(attempt)) {
                    NodeBench.until(where + ": the waiter is told", () -> scripts.handed.containsKey(attempt));
                    top = Math.max(top, handOver.tokens().last());
                    if (!handOver.tokens().equals(scripts.handed.get(attempt).tokens())) {
                        differences.add("handed over: scripts " + scripts.handed.get(attempt) + ", model " + handOver);
                    }
                }
            });
            if (!attempts(scripts).equals(attempts(model))) {
                differences.add("the scripts handed over to others, too");
            }
        }

        /** A push that repeats a hand-over of the previous walk may arrive during this one. */
        private Set<String> attempts(DifferentialSubject subject) {
            return subject.handed.values().stream()
                    .filter(handOver -> handOver.name().equals(name))
                    .map(HandOver::attemptId)
                    .collect(Collectors.toSet());
        }
    }
}
