package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests of a link, of its silence, and of its start; only the test advances the time. */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillLinkTest {

    private static final Duration SILENCE = Duration.ofSeconds(3);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://here"));
    private static final RedisUri WAITS =
            RedisUri.parse(StoreUri.parse("redis://here?waitReplicas=1&waitTimeout=70ms"));
    private static final ScriptCall CALL = new ScriptCall(LuaScript.INSPECT, new String[] {"k"}, new String[0]);
    private static final ScriptCall.CommonCase COMMON = new ScriptCall.CommonCase(
            LuaScript.ACQUIRE_FREE, LuaScript.ACQUIRE_MANY, new String[] {"k"}, new String[] {"v"});
    private final ServerRefusal noScript = new ServerRefusal("NOSCRIPT No matching script.", null);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final StillDriver.Connection connection = new StillDriver.Connection();
    private final List<Link> ended = new ArrayList<>();
    private final List<String> answers = new ArrayList<>();

    @AfterEach
    void close() {
        runtime.close();
    }

    private Link link() {
        return link(connection, null, HERE);
    }

    private Link link(RedisConnection over, RedisConnection.@Nullable Acknowledging acknowledged, RedisUri address) {
        return new Link(over, acknowledged, address, ServerFacts.parse(StillDriver.MASTER), runtime);
    }

    private void heard(@Nullable Object reply, @Nullable Throwable error) {
        answers.add(reply != null ? reply.toString() : String.valueOf(error == null ? null : error.getMessage()));
    }

    // ---- silence

    /** Each kind of request starts the silence, and none prolongs it. */
    @Test
    void threeSecondsWithoutAnAnswerEndALink() {
        List<Consumer<Link>> requests = List.of(
                link -> link.run(CALL, () -> true, this::heard),
                link -> link.asking().run(CALL, () -> true, this::heard),
                link -> link.ask(PlainCommand.TIME));
        for (Consumer<Link> request : requests) {
            StillDriver.Connection silent = new StillDriver.Connection();
            Link link = link(silent, null, HERE);
            runtime.advance(SILENCE);
            link.unanswered();
            assertThat(silent.open).as("nothing was asked").isTrue();
            request.accept(link);
            runtime.advance(SILENCE.minus(NANO));
            request.accept(link);
            link.unanswered();
            assertThat(silent.open).isTrue();
            runtime.advance(NANO);
            link.unanswered();
            assertThat(silent.open).isFalse();
        }
    }

    @Test
    void onlyWhatTheServerSaysEndsTheSilence() {
        List<Throwable> heard = List.of(
                new ServerRefusal("LOADING Redis is loading the dataset in memory", null),
                new CancellationException("given up"));
        for (Throwable answer : heard) {
            StillDriver.Connection alive = new StillDriver.Connection();
            Link link = link(alive, null, HERE);
            link.run(CALL, () -> true, this::heard);
            alive.fails("EVALSHA", answer);
            runtime.advance(SILENCE);
            link.unanswered();
            assertThat(alive.open).as("%s", answer).isTrue();
            link.run(CALL, () -> true, this::heard);
            alive.answers("EVALSHA", "free");
            runtime.advance(SILENCE);
            link.unanswered();
            assertThat(alive.open).isTrue();
        }
        Link link = link();
        link.run(CALL, () -> true, this::heard);
        connection.fails("EVALSHA", new IOException("it was not sent"));
        runtime.advance(SILENCE);
        link.unanswered();
        assertThat(connection.open).isFalse();
    }

    // ---- requests that are sent

    @Test
    void anUnknownScriptLeavesByItsTextIfItIsStillWanted() {
        for (boolean asking : new boolean[] {false, true}) {
            String begin = asking ? "ASKING " : "";
            Link link = asking ? link().asking() : link();
            link.run(CALL, () -> true, this::heard);
            connection.fails(begin + "EVALSHA", noScript);
            connection.answers(begin + "EVAL", "by text");
            link.run(CALL, () -> false, this::heard);
            connection.fails(begin + "EVALSHA", noScript);
            link.run(CALL, () -> true, this::heard);
            connection.fails(begin + "EVALSHA", new ServerRefusal("READONLY no", null));
            assertThat(connection.questions).isEmpty();
        }
        String givenUp = RedisConnection.givenUp().getMessage();
        assertThat(answers).containsExactly("[by text]", givenUp, "READONLY no", "[by text]", givenUp, "READONLY no");
    }

    @Test
    void whatHasACommonCaseLeavesTogetherAndItsAnswerIsHeard() {
        List<BiConsumer<@Nullable List<Object>, @Nullable Throwable>> together = new ArrayList<>();
        List<String> left = new ArrayList<>();
        RedisConnection joining = new RedisConnectionThatJoins(connection, new RedisConnection.Joint() {
            @Override
            public void run(
                    ScriptCall call,
                    ScriptCall.CommonCase common,
                    BooleanSupplier wanted,
                    BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
                together.add(then);
            }

            @Override
            public void haveLeft(String... keys) {
                left.addAll(List.of(keys));
            }
        });
        Link link = link(joining, null, HERE);
        link.run(CALL.orCommonly(COMMON), () -> true, this::heard);
        runtime.advance(SILENCE.minus(NANO));
        link.run(CALL.orCommonly(COMMON), () -> true, this::heard);
        assertThat(together).hasSize(2);
        assertThat(left).isEmpty();
        together.get(0).accept(List.of("yes"), null);
        together.get(1).accept(null, new IOException("reset"));
        assertThat(answers).containsExactly("[yes]", "reset");
        runtime.advance(NANO);
        link.unanswered();
        assertThat(connection.open).as("it was heard").isTrue();
        link.run(CALL, () -> true, this::heard);
        assertThat(left).as("what leaves alone tells").containsExactly("k");
        link.asking().run(CALL.orCommonly(COMMON), () -> true, this::heard);
        assertThat(together).as("behind ASKING each leaves alone").hasSize(2);
        runtime.advance(SILENCE);
        link.run(CALL.orCommonly(COMMON), () -> true, this::heard);
        link.unanswered();
        assertThat(connection.open).isFalse();
    }

    @Test
    void whatLeavesTogetherBeginsASilenceToo() {
        RedisConnection joining = new RedisConnectionThatJoins(connection, new RedisConnection.Joint() {
            @Override
            public void run(
                    ScriptCall call,
                    ScriptCall.CommonCase common,
                    BooleanSupplier wanted,
                    BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {}

            @Override
            public void haveLeft(String... keys) {}
        });
        Link link = link(joining, null, HERE);
        link.run(CALL.orCommonly(COMMON), () -> true, this::heard);
        runtime.advance(SILENCE);
        link.unanswered();
        assertThat(connection.open).isFalse();
    }

    @Test
    void anAnswerThatCannotBeReadIsAFailure() {
        Link link = link();
        CompletableFuture<List<String>> time = link.ask(new PlainCommand<>("TIME", new String[0], items -> {
            throw new IllegalArgumentException("no time");
        }));
        connection.answers("TIME", "5");
        assertThatThrownBy(time::join).hasRootCauseMessage("no time");
        CompletableFuture<List<@Nullable String>> failing = link.ask(PlainCommand.TIME);
        connection.fails("TIME", new IOException("reset"));
        assertThatThrownBy(failing::join).hasRootCauseMessage("reset");
    }

    /** While its slot moves, no replica is asked to acknowledge. */
    @Test
    void behindAskingNoReplicaIsWaitedFor() {
        StillDriver.Connection second = new StillDriver.Connection();
        Link link = link(connection, second.acknowledging(WAITS.acknowledgement()), WAITS);
        link.asking().runAcknowledged(CALL, () -> true, this::heard);
        connection.answers("ASKING EVALSHA", "held");
        link.asking().runAcknowledged(CALL, () -> true, this::heard);
        connection.fails("ASKING EVALSHA", new ServerRefusal("OOM no", null));
        assertThat(answers).containsExactly(new Acknowledged(List.of("held"), 0).toString(), "OOM no");
        assertThat(second.asked).isZero();
    }

    /** An answer on one of its connections says nothing of the other; a request may wait twice for replicas. */
    @Test
    void theSilenceOfTheConnectionThatWaitsIsItsOwn() {
        StillDriver.Connection second = new StillDriver.Connection();
        Link link = link(connection, second.acknowledging(WAITS.acknowledgement()), WAITS);
        link.runAcknowledged(CALL, () -> true, this::heard);
        link.run(CALL, () -> true, this::heard);
        connection.answers("EVALSHA", "free");
        runtime.advance(SILENCE.plusMillis(140).minus(NANO));
        link.unanswered();
        assertThat(connection.open).isTrue();
        second.answers("EVALSHA", "free");
        assertThat(answers).containsExactly("[free]", new Acknowledged(List.of("free"), 1).toString());
        runtime.advance(SILENCE);
        link.unanswered();
        assertThat(connection.open).isTrue();
        link.runAcknowledged(CALL, () -> true, this::heard);
        runtime.advance(SILENCE.plusMillis(140));
        link.unanswered();
        assertThat(connection.open).isFalse();
        assertThat(second.open).isFalse();
    }

    @Test
    void aLinkThatWasNotMadeForItWaitsForNoReplicas() {
        link().runAcknowledged(CALL, () -> true, this::heard);
        assertThat(answers).containsExactly("this link does not wait for replicas");
        assertThat(connection.asked).isZero();
    }

    // ---- the handshake

    @Test
    void aServerThatIsNotWhatItHasToBeIsRefusedAndEnded() {
        CompletableFuture<Link> link = handshake(HERE);
        driver.asked.get(0).answer().complete(connection);
        connection.answers("INFO", StillDriver.MASTER.replace("7.0.9", "5.0.0"));
        assertThatThrownBy(link::join).hasCauseInstanceOf(UnsafeStoreException.class);
        assertThat(connection.open).isFalse();
    }

    /** It has two connections then, and ends with either. */
    @Test
    void aLinkThatWaitsForReplicasHasASecondConnection() {
        for (int ending = 0; ending < 2; ending++) {
            int before = driver.asked.size();
            CompletableFuture<Link> handshake = handshake(WAITS);
            StillDriver.Connection first = driver.made();
            assertThat(driver.asked).hasSize(before + 2);
            StillDriver.Connection second = new StillDriver.Connection();
            driver.asked.get(before + 1).answer().complete(second);
            assertThat(handshake).isNotDone();
            second.answers("WAIT", 0L);
            assertThat(handshake).isNotDone();
            second.answers("INFO", StillDriver.MASTER);
            assertThat(handshake).isCompleted();
            handshake.join().runAcknowledged(CALL, () -> true, this::heard);
            assertThat(second.questions).hasSize(1);
            (ending == 0 ? first : second).ends();
            assertThat(first.open).isFalse();
            assertThat(second.open).isFalse();
            assertThat(ended).hasSize(ending + 1);
        }
    }

    /** The server may be started anew between the two; the run id of a link is that of both. */
    @Test
    void twoConnectionsToDifferentLivesAreNoLink() {
        CompletableFuture<Link> link = handshake(WAITS);
        StillDriver.Connection first = driver.made();
        StillDriver.Connection second = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(second);
        second.answers("WAIT", 0L);
        second.answers("INFO", StillDriver.MASTER.replace("run_id:life", "run_id:next"));
        assertThatThrownBy(link::join).hasMessageContaining("was started anew while it was connected to");
        assertThat(first.open).isFalse();
        assertThat(second.open).isFalse();
    }

    /** The scripts of the common case hand nothing over: they have as few arguments as before, whoever asks. */
    @Test
    void onlyTheWholeScriptIsToldItsServer() {
        ScriptCall call = ScriptCall.ofLock(
                        LuaScript.RELEASE, "lock:{x}", new String[] {"owner", "0"}, LifeCheck.CONNECTION, COMMON)
                .on("life", () -> false);
        assertThat(call.arguments()).containsExactly("owner", "0", "life");
        assertThat(call.common()).isSameAs(COMMON);
    }

    /** Of the second connection it is not proved that it is direct. */
    @Test
    void aRequestIsCompletedOnEachConnectionOfALink() {
        List<String> committed = new ArrayList<>();
        Link link = link(
                connection,
                new RedisConnection.Acknowledging() {
                    @Override
                    public void run(
                            ScriptCall call,
                            BooleanSupplier wanted,
                            BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
                        committed.addAll(List.of(call.arguments()));
                    }

                    @Override
                    public void close() {}
                },
                WAITS);
        for (LifeCheck check : LifeCheck.values()) {
            ScriptCall incomplete = CALL.orCommonly(COMMON).checking(check);
            assertThatThrownBy(incomplete::arguments).hasMessageContaining("complete only on a connection");
            assertThatThrownBy(incomplete::common).hasMessageContaining("complete only on a connection");
            link.runAcknowledged(incomplete, () -> true, this::heard);
            link.asking().runAcknowledged(incomplete, () -> true, this::heard);
            link.asking().run(incomplete, () -> true, this::heard);
        }
        assertThat(committed).containsExactly("life", "volatile", "volatile", "durable");
        assertThat(connection.sent.stream().filter(one -> !one.startsWith("CLIENT")))
                .extracting(one -> one.substring(one.lastIndexOf(' ') + 1))
                .containsExactly("life", "life", "volatile", "volatile", "volatile", "volatile", "durable", "durable");
        assertThat(connection.sent.stream().filter("CLIENT INFO"::equals)).hasSize(1);
    }

    @Test
    void whoDoesNotWaitForReplicasIsRefusedAndBothAreEnded() {
        CompletableFuture<Link> link = handshake(WAITS);
        StillDriver.Connection first = driver.made();
        StillDriver.Connection second = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(second);
        second.fails("WAIT", new ServerRefusal("NOPERM this user has no permissions to run the 'wait' command", null));
        assertThatThrownBy(link::join)
                .hasCauseInstanceOf(StoreAccessException.class)
                .hasMessageContaining("wait for replicas (WAIT)");
        assertThat(first.open).isFalse();
        assertThat(second.open).isFalse();
    }

    private CompletableFuture<Link> handshake(RedisUri place) {
        return new Handshake(driver, driver::connect, Expectation.SERVER, new RedisErrors("node"), runtime, ended::add)
                .with(place);
    }

    /** The driver may report a connection a moment before it accepts commands. */
    @Test
    void aConnectionThatTakesNoCommandYetIsAskedAgainTwentyTimes() {
        CompletableFuture<Link> link = handshake(HERE);
        connection.takesNone = 19;
        driver.asked.get(0).answer().complete(connection);
        for (int i = 1; i <= 19; i++) {
            assertThat(connection.asked).isEqualTo(i);
            runtime.advance(Duration.ofMillis(5).minus(NANO));
            assertThat(connection.asked).isEqualTo(i);
            runtime.advance(NANO);
        }
        connection.answers("INFO", StillDriver.MASTER);
        assertThat(link.join().incarnation().id()).isEqualTo("life");

        CompletableFuture<Link> never = handshake(HERE);
        StillDriver.Connection deaf = new StillDriver.Connection();
        deaf.takesNone = 100;
        driver.asked.get(1).answer().complete(deaf);
        runtime.advance(Duration.ofSeconds(1));
        assertThatThrownBy(never::join).hasCauseInstanceOf(StoreUnavailableException.class);
        assertThat(deaf.asked).isEqualTo(20);
        assertThat(deaf.open).isFalse();
    }

    @Test
    void soIsTheConnectionThatWaitsForReplicas() {
        CompletableFuture<Link> link = handshake(WAITS);
        driver.made();
        StillDriver.Connection second = new StillDriver.Connection();
        second.takesNone = 1;
        driver.asked.get(1).answer().complete(second);
        runtime.advance(Duration.ofMillis(5));
        second.answers("WAIT", 0L);
        second.answers("INFO", StillDriver.MASTER);
        assertThat(link).isCompleted();
    }

    @Test
    void anythingElseIsNotAskedAgain() {
        CompletableFuture<Link> link = handshake(HERE);
        driver.asked.get(0).answer().complete(connection);
        connection.fails("INFO", new IOException("reset"));
        assertThatThrownBy(link::join).hasCauseInstanceOf(StoreUnavailableException.class);
        runtime.advance(Duration.ofSeconds(1));
        assertThat(connection.asked).isOne();
        assertThat(connection.open).isFalse();
    }

    @Test
    void eachStepHasItsTime() {
        CompletableFuture<Link> link = handshake(HERE);
        runtime.advance(Duration.ofSeconds(15).minus(NANO));
        assertThat(link).isNotDone();
        runtime.advance(NANO);
        assertThatThrownBy(link::join).hasMessageContaining("could not be connected to in time");
        driver.asked.get(0).answer().complete(connection);
        assertThat(connection.open).as("it came too late").isFalse();

        CompletableFuture<Link> silent = handshake(HERE);
        StillDriver.Connection says = new StillDriver.Connection();
        driver.asked.get(1).answer().complete(says);
        runtime.advance(SILENCE.minus(NANO));
        assertThat(silent).isNotDone();
        runtime.advance(NANO);
        assertThatThrownBy(silent::join).hasMessageContaining("did not answer the request to read INFO in time");
        assertThat(says.open).isFalse();
        assertThat(runtime.isDueWithin(Duration.ofMinutes(1)))
                .as("limits that are left")
                .isFalse();
    }

    /** Whether or not its owner has taken it over. */
    @Test
    void aLinkEndsWithItsConnectionAndIsTold() {
        CompletableFuture<Link> link = handshake(HERE);
        driver.asked.get(0).answer().complete(connection);
        connection.answers("INFO", StillDriver.MASTER);
        assertThat(link.join().isOpen()).isTrue();
        assertThat(runtime.isDueWithin(Duration.ofMinutes(1)))
                .as("limits that are left")
                .isFalse();
        connection.ends();
        assertThat(connection.closes)
                .as("the driver keeps it until it is notified")
                .isPositive();
        assertThat(ended).containsExactly(link.join());
    }

    /** A connection that sends calls together. */
    private record RedisConnectionThatJoins(RedisConnection real, RedisConnection.Joint joint)
            implements RedisConnection {
        @Override
        public void run(
                ScriptCall call,
                boolean byText,
                boolean asking,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            real.run(call, byText, asking, then);
        }

        @Override
        public void send(
                PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            real.send(command, asking, then);
        }

        @Override
        public @Nullable Throwable plain(@Nullable Throwable thrown) {
            return thrown;
        }

        @Override
        public Joint joint(boolean bySlot, Alone alone) {
            return joint;
        }

        @Override
        public boolean isOpen() {
            return real.isOpen();
        }

        @Override
        public void close() {
            real.close();
        }

        @Override
        public void onEnd(Runnable listener) {
            real.onEnd(listener);
        }
    }
}
