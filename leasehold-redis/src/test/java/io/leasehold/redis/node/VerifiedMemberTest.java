package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the votes of a server that count, by the knowledge about its life and by the kind of the request. */
@Tag("quick")
@SuppressWarnings("FutureReturnValueIgnored")
final class VerifiedMemberTest {

    private static final Incarnation LIFE = new Incarnation("first");
    private static final Incarnation NEXT = new Incarnation("second");
    private static final DurabilityCheck KEPT = check(true, SettingsOrigin.START, null);
    private static final DurabilityCheck FORGETS = check(true, SettingsOrigin.REWRITTEN, null);
    private static final DurabilityCheck CHANGED = check(true, SettingsOrigin.CHANGED, null);
    private static final DurabilityCheck LOSSY = check(false, SettingsOrigin.START, null);
    private static final DurabilityCheck EVICTING = check(true, SettingsOrigin.START, "allkeys-lru");
    private static final Membership DURABLE = new Membership("set", 1, 2, 3, Membership.Persistence.DURABLE);
    private static final Membership VOLATILE = new Membership("set", 1, 2, 3, Membership.Persistence.VOLATILE);
    private static final OwnerToken OWNER = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));
    private static final LockName NAME = LockName.of("x");
    private static final Ballot BALLOT =
            new Ballot(AcquireRequest.exclusive(List.of(NAME), OWNER, "h", 1_000_000, 77), 5, 1);

    private long nowNanos = TimeUnit.HOURS.toNanos(1);
    private final List<Long> delays = new ArrayList<>();
    private final List<Runnable> timers = new ArrayList<>();
    private int cancelled;
    private final List<String> calls = new ArrayList<>();
    private final List<Object> memberships = new ArrayList<>();
    private NodeReply reply = yes(LIFE);
    private final List<CompletableFuture<Map<Incarnation, DurabilityCheck>>> looks = new ArrayList<>();

    private final LockRuntime runtime = proxy(LockRuntime.class, (method, arguments) -> {
        if (method.getName().equals("schedule")) {
            delays.add((Long) arguments[0]);
            timers.add((Runnable) arguments[1]);
            return (LockRuntime.Timer) () -> cancelled++;
        }
        return nowNanos;
    });
    private final LockNode node = proxy(LockNode.class, (method, arguments) -> {
        calls.add(method.getName());
        if (method.getName().equals("acquire")) {
            memberships.add(arguments[1]);
        }
        return CompletableFuture.completedFuture(
                method.getName().equals("renew") ? new RenewReply(List.of(new RenewReply.Renewed(7))) : reply);
    });

    private interface Answers {
        Object to(Method method, Object[] arguments);
    }

    private static <T> T proxy(Class<T> type, Answers answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (self, method, arguments) -> answers.to(method, arguments)));
    }

    private static DurabilityCheck check(boolean durableNow, SettingsOrigin origin, String evicting) {
        return new DurabilityCheck(true, durableNow, origin, evicting);
    }

    private static NodeReply yes(Incarnation life) {
        return new NodeReply.Yes(life, 9);
    }

    private VerifiedMember member(boolean durable, boolean mayEvict, Map<Incarnation, DurabilityCheck> found) {
        return new VerifiedMember(
                node,
                "a:1",
                durable,
                mayEvict,
                found,
                () -> {
                    looks.add(new CompletableFuture<>());
                    return looks.get(looks.size() - 1);
                },
                runtime);
    }

    private VerifiedMember durable(DurabilityCheck found) {
        return member(true, false, Map.of(LIFE, found));
    }

    private static NodeReply ask(VerifiedMember member) {
        return member.acquire(BALLOT, DURABLE).join();
    }

    private void found(Incarnation life, DurabilityCheck check) {
        looks.get(looks.size() - 1).complete(Map.of(life, check));
    }

    private static void counts(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
    }

    private static void fails(
            NodeReply reply, FailureKind kind, Class<? extends LockStoreException> type, String text) {
        assertThat(reply).isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(kind);
            assertThat(failed.error()).isExactlyInstanceOf(type).hasMessageContaining(text);
        });
    }

    @Test
    void aVoteOfALifeThatWasNotLookedAtIsUndoneUntilItHasBeen() {
        VerifiedMember member = durable(KEPT);
        counts(ask(member));
        assertThat(looks).isEmpty();

        reply = yes(NEXT);
        fails(
                ask(member),
                FailureKind.UNKNOWN,
                StoreUnavailableException.class,
                "is being read before its vote counts");
        ask(member);
        assertThat(looks).as("one question at a time").hasSize(1);
        found(NEXT, KEPT);

        counts(ask(member));
        assertThat(looks).hasSize(1);
        assertThat(cancelled).isEqualTo(1);
    }

    @Test
    void aReaderOfALifeThatWasNotLookedAtDoesNotTakeThePlaceOfAWriter() {
        VerifiedMember member = durable(KEPT);
        counts(member.downgrade(BALLOT, OWNER, DURABLE).join());
        reply = yes(NEXT);
        fails(
                member.downgrade(BALLOT, OWNER, DURABLE).join(),
                FailureKind.UNKNOWN,
                StoreUnavailableException.class,
                "is being read before its vote counts");
        found(NEXT, LOSSY);
        calls.clear();
        fails(
                member.downgrade(BALLOT, OWNER, DURABLE).join(),
                FailureKind.NO_EFFECT,
                UnsafeStoreException.class,
                "is declared durable=true, but");
        assertThat(calls).as("its life alone is requested").containsExactly("probe");
    }

    @Test
    void aLifeIsHeardOfByEachAnswer() {
        VerifiedMember member = durable(KEPT);
        reply = new NodeReply.Held(null, false, NEXT, 9);
        assertThat(ask(member)).as("what grants nothing is passed on").isSameAs(reply);
        assertThat(looks).hasSize(1);
        found(NEXT, KEPT);

        reply = new NodeReply.Stale(0, new Incarnation("third"), 9);
        assertThat(member.probe(5).join()).isSameAs(reply);
        assertThat(looks).hasSize(2);
        found(new Incarnation("third"), KEPT);

        reply = new NodeReply.Stale(0, new Incarnation("fourth"), 9);
        assertThat(member.probe(NAME, 5).join()).isSameAs(reply);
        assertThat(looks).hasSize(3);

        reply = new NodeReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException("silent", null));
        assertThat(ask(member)).isSameAs(reply);
        assertThat(looks).hasSize(3);
    }

    @Test
    void aQuestionThatFailedOrWasNotAnsweredIsAskedAgain() {
        VerifiedMember member = durable(KEPT);
        reply = yes(NEXT);
        for (int time = 1; time <= 3; time++) {
            ask(member);
            assertThat(looks).hasSize(2 * time - 1);
            looks.get(2 * time - 2).completeExceptionally(new IllegalStateException("cut off"));
            ask(member);
            assertThat(looks).hasSize(2 * time);
            assertThat(delays.get(2 * time - 1)).isEqualTo(TimeUnit.SECONDS.toNanos(3));
            timers.get(2 * time - 1).run();
        }
        ask(member);
        found(NEXT, KEPT);
        counts(ask(member));
    }

    @Test
    void aServerThatIsNotWhatItWasDeclaredIsNotAskedAnyMore() {
        VerifiedMember member = durable(KEPT);
        reply = yes(NEXT);
        ask(member);
        found(NEXT, LOSSY);
        calls.clear();

        fails(ask(member), FailureKind.NO_EFFECT, UnsafeStoreException.class, "is declared durable=true, but");
        assertThat(calls).as("its life alone is requested").containsExactly("probe");
        RenewBatch.Item item = new RenewBatch.Item(NAME, OWNER, 1_000);
        assertThat(member.renew(new RenewBatch(List.of(item, item), 5)).join().items())
                .hasSize(2)
                .allSatisfy(one -> assertThat(((RenewReply.Failed) one).error())
                        .isInstanceOf(UnsafeStoreException.class)
                        .hasMessageContaining("is declared durable=true, but"));
        assertThat(calls).containsExactly("probe");
        assertThat(looks).hasSize(1);

        nowNanos += TimeUnit.SECONDS.toNanos(5);
        ask(member);
        assertThat(looks).as("not yet").hasSize(1);
        nowNanos += 1;
        ask(member);
        assertThat(looks).as("from time to time").hasSize(2);
        found(NEXT, KEPT);

        counts(ask(member));
        assertThat(member.renew(new RenewBatch(List.of(item), 5)).join().items())
                .containsExactly(new RenewReply.Renewed(7));
    }

    /** The arbitrary origin of the clock must not matter: it may have started a moment ago, or below zero. */
    @Test
    void theFirstSecondLookDoesNotDependOnTheOriginOfTheClock() {
        for (long origin : new long[] {-TimeUnit.DAYS.toNanos(1), 0, TimeUnit.DAYS.toNanos(1)}) {
            nowNanos = origin;
            looks.clear();
            VerifiedMember member = durable(LOSSY);
            reply = new NodeReply.Stale(0, LIFE, 9);
            member.probe(5).join();
            nowNanos += TimeUnit.SECONDS.toNanos(6);
            ask(member);
            assertThat(looks).as("origin %s", origin).hasSize(1);
        }
    }

    /** The time counts from the last check and not from the first. */
    @Test
    void whatDoesNotCountIsLookedAtAgainAfterFiveSecondsEachTime() {
        VerifiedMember member = durable(LOSSY);
        reply = new NodeReply.Stale(0, LIFE, 9);
        member.probe(5).join();
        for (int time = 1; time <= 3; time++) {
            nowNanos += TimeUnit.SECONDS.toNanos(5);
            ask(member);
            assertThat(looks).as("not yet").hasSize(time - 1);
            nowNanos++;
            ask(member);
            assertThat(looks).hasSize(time);
            found(LIFE, LOSSY);
            ask(member);
            assertThat(looks).as("it has just been looked at").hasSize(time);
        }
        nowNanos += TimeUnit.SECONDS.toNanos(6);
        ask(member);
        found(LIFE, KEPT);
        reply = yes(LIFE);
        counts(ask(member));
    }

    /** A client that only keeps its locks must notice a configuration that was corrected, or it loses them. */
    @Test
    void aRenewalOrAnExportLooksAgainToo() {
        RenewBatch renewal = new RenewBatch(List.of(new RenewBatch.Item(NAME, OWNER, 1_000)), 5);
        ExportRequest export = new ExportRequest(NAME, OWNER, 5, OWNER, 5, "h", 1_000, 5);
        List<Consumer<VerifiedMember>> requests = List.of(
                member -> member.renew(renewal).join(),
                member -> member.export(export).join());
        for (Consumer<VerifiedMember> request : requests) {
            looks.clear();
            VerifiedMember member = durable(LOSSY);
            reply = new NodeReply.Stale(0, LIFE, 9);
            member.probe(5).join();
            nowNanos += TimeUnit.SECONDS.toNanos(5);
            request.accept(member);
            assertThat(looks).as("not yet").isEmpty();
            nowNanos++;
            request.accept(member);
            request.accept(member);
            assertThat(looks).as("one question at a time").hasSize(1);
            found(LIFE, KEPT);
            assertThat(member.renew(renewal).join().items()).containsExactly(new RenewReply.Renewed(7));
        }
    }

    /** The next question must not depend on the previous one. */
    @Test
    void aLookThatIsThrownBackIsNotTheLast() {
        List<Throwable> thrown = new ArrayList<>(
                List.of(new IllegalStateException("made by the test"), new NoClassDefFoundError("made by the test")));
        VerifiedMember member = new VerifiedMember(
                node,
                "a:1",
                true,
                false,
                Map.of(LIFE, KEPT),
                () -> {
                    looks.add(new CompletableFuture<>());
                    if (!thrown.isEmpty()) {
                        Throwable now = thrown.remove(0);
                        if (now instanceof Error error) {
                            throw error;
                        }
                        throw (RuntimeException) now;
                    }
                    return looks.get(looks.size() - 1);
                },
                runtime);
        reply = yes(NEXT);
        for (int time = 1; time <= 3; time++) {
            fails(
                    ask(member),
                    FailureKind.UNKNOWN,
                    StoreUnavailableException.class,
                    "is being read before its vote counts");
            assertThat(looks).hasSize(time);
        }
        found(NEXT, KEPT);
        counts(ask(member));
    }

    @Test
    void aVoteOfALifeThatTurnsOutUnfitIsUndone() {
        VerifiedMember member = member(true, false, Map.of(LIFE, KEPT, NEXT, LOSSY));
        counts(ask(member));
        reply = yes(NEXT);
        fails(ask(member), FailureKind.UNKNOWN, UnsafeStoreException.class, "is declared durable=true, but");
    }

    @Test
    void aServerThatEvictsCountsOnlyInASetThatPromisesNoMore() {
        for (boolean durable : new boolean[] {true, false}) {
            fails(
                    ask(member(durable, false, Map.of(LIFE, EVICTING))),
                    FailureKind.UNKNOWN,
                    UnsafeStoreException.class,
                    "maxmemory-policy allkeys-lru");
            counts(ask(member(durable, true, Map.of(LIFE, EVICTING))));
        }
        counts(ask(member(false, false, Map.of(LIFE, LOSSY))));
    }

    @Test
    void whatWasNotStartedDurableIsAskedAsOneThatForgets() {
        VerifiedMember member = durable(FORGETS);
        fails(ask(member), FailureKind.UNKNOWN, StoreUnavailableException.class, "asked again as a node that forgets");
        counts(ask(member));
        counts(ask(member));
        assertThat(memberships).containsExactly(DURABLE, VOLATILE, VOLATILE);

        reply = yes(NEXT);
        ask(member);
        found(NEXT, KEPT);
        memberships.clear();
        counts(ask(member));
        assertThat(memberships).containsExactly(DURABLE);
    }

    @Test
    void whatWasNotDeclaredDurableIsAskedAsTheSetSays() {
        VerifiedMember member = member(false, false, Map.of(LIFE, FORGETS));
        counts(ask(member));
        counts(ask(member));
        assertThat(memberships).containsExactly(DURABLE, DURABLE);
    }

    /** A later setting does not prove what this life has loaded; a new life does. */
    @Test
    void aLifeThatBeganWithAllKeepsThatVerdict() {
        VerifiedMember member = member(true, false, Map.of(LIFE, KEPT));
        counts(ask(member));
        reply = yes(NEXT);
        ask(member);
        looks.get(0).complete(Map.of(LIFE, CHANGED, NEXT, CHANGED));

        reply = yes(LIFE);
        ask(member);
        memberships.clear();
        counts(ask(member));
        assertThat(memberships).containsExactly(DURABLE);

        reply = yes(NEXT);
        ask(member);
        memberships.clear();
        counts(ask(member));
        assertThat(memberships).containsExactly(VOLATILE);
    }

    @Test
    void aServerThatMayNotBeAskedIsBelieved() {
        counts(ask(durable(DurabilityCheck.UNREADABLE)));
        assertThat(VerifiedMember.unfit("a:1", true, DurabilityCheck.UNREADABLE))
                .isNull();
        assertThat(VerifiedMember.unfit("a:1", false, LOSSY)).isNull();
        assertThat(VerifiedMember.unfit("a:1", true, KEPT)).isNull();
        assertThat(VerifiedMember.unfit("a:1", true, LOSSY)).startsWith("a:1 is declared durable=true");
    }

    /** A server that restarts repeatedly does not fill the memory: known lives are checked again. */
    @Test
    void notEveryLifeIsRememberedForEver() {
        Map<Incarnation, DurabilityCheck> many = new HashMap<>();
        for (int i = 0; i < 1_000; i++) {
            many.put(new Incarnation("life " + i), KEPT);
        }
        VerifiedMember member = member(true, false, many);
        reply = yes(NEXT);
        ask(member);
        found(NEXT, KEPT);
        counts(ask(member));
        reply = yes(new Incarnation("life 1"));
        ask(member);
        assertThat(looks).hasSize(2);
    }

    /** All other requests and answers pass unchanged. */
    @Test
    void allElseIsTheNodes() throws Exception {
        Map<String, Object> answers = new HashMap<>();
        List<Object> passed = new ArrayList<>();
        LockNode plain = proxy(LockNode.class, (method, arguments) -> {
            passed.addAll(arguments == null ? List.of() : Arrays.asList(arguments));
            answers.put(method.getName(), sample(method.getReturnType()));
            return answers.get(method.getName());
        });
        VerifiedMember member = new VerifiedMember(plain, "a:1", true, true, Map.of(), CompletableFuture::new, runtime);
        for (Method method : LockNode.class.getMethods()) {
            boolean own = method.getName().equals("probe")
                    || (method.getName().equals("acquire") && method.getParameterCount() == 2)
                    || (method.getName().equals("resume") && method.getParameterCount() == 4)
                    || (method.getName().equals("downgrade") && method.getParameterCount() == 3);
            if (own) {
                continue;
            }
            answers.clear();
            passed.clear();
            Object[] arguments = Arrays.stream(method.getParameterTypes())
                    .map(VerifiedMemberTest::sample)
                    .toArray();
            Object answer = method.invoke(member, arguments);
            assertThat(answers.keySet()).containsExactly(method.getName());
            Object expected = answers.get(method.getName());
            assertThat(answer == expected || (expected instanceof Boolean && expected.equals(answer)))
                    .as("%s", method)
                    .isTrue();
            assertThat(passed).as("%s", method).hasSameSizeAs(arguments);
            for (int i = 0; i < arguments.length; i++) {
                assertThat(passed.get(i) == arguments[i]).as("%s", method).isTrue();
            }
        }
    }

    private static Object sample(Class<?> type) {
        if (type == boolean.class) {
            return false;
        }
        if (type == Guarantees.class) {
            return RedisGuarantees.single(true);
        }
        if (type == int.class) {
            return 3;
        }
        if (type == long.class) {
            return 4L;
        }
        if (type == String.class) {
            return "text";
        }
        if (type == LockName.class) {
            return NAME;
        }
        if (type == List.class) {
            return List.of(NAME);
        }
        if (type == CompletableFuture.class) {
            return new CompletableFuture<>();
        }
        if (type == Ballot.class) {
            return BALLOT;
        }
        if (type == RenewBatch.class) {
            return new RenewBatch(List.of(), 1);
        }
        return type.isInterface() && type.getName().contains("leasehold") ? proxy(type, (m, a) -> null) : null;
    }
}
