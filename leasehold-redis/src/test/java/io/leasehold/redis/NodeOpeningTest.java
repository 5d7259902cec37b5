package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.node.DurabilityCheck;
import io.leasehold.redis.node.SettingsOrigin;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.Driver;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the facts that the opening of a node finds. */
@Tag("quick")
final class NodeOpeningTest {

    private static NodeOpening.Outcome outcome(boolean open, Throwable failure) {
        return new NodeOpening.Outcome(open, Map.of(), failure);
    }

    /** A proxy that closes such connections does not prevent locks; a server that answers with another error does. */
    @Test
    void onlyAQuestionWithoutAnAnswerIsCutOff() {
        assertThat(outcome(true, new StoreUnavailableException("cut", new RedisException("reset")))
                        .isCutOff())
                .isTrue();
        assertThat(outcome(true, new StoreUnavailableException("cut", null)).isCutOff())
                .isTrue();
        assertThat(outcome(true, new StoreUnavailableException("no", new ServerRefusal("LOADING", null)))
                        .isCutOff())
                .isFalse();
        assertThat(outcome(true, new StoreAccessException("no", null)).isCutOff())
                .isFalse();
        assertThat(outcome(false, new StoreUnavailableException("cut", null)).isCutOff())
                .isFalse();
        assertThat(outcome(true, null).isCutOff()).isFalse();
    }

    /** Otherwise its threads would stay, since no other object knows the driver. */
    @Test
    void anOpeningThatCannotEvenBeginEndsItsDriver() {
        LockRuntime runtime = new SystemLockRuntime();
        List<String> called = new ArrayList<>();
        Driver driver = (Driver) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Driver.class}, (self, method, given) -> {
                    called.add(method.getName());
                    if (method.getName().equals("logInWith")) {
                        throw new InternalError("no memory");
                    }
                    return null;
                });
        Deployment where = Deployment.parse(StoreUri.parse("redis://127.0.0.1"))
                .credentials(() -> Credentials.of("app", "s3cret"));
        assertThatThrownBy(() -> new NodeOpening(where, driver, runtime)).hasMessage("no memory");
        assertThat(called).containsExactly("logInWith", "close");
        runtime.close();
    }

    /** The runtime performs the wait, and no timer stays behind. */
    @Test
    void anOpeningIsWaitedForByTheRuntime() {
        WatchedRuntime watched = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
        List<CompletableFuture<?>> awaited = new ArrayList<>();
        LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (self, method, given) -> {
                    if (method.getName().equals("await")) {
                        awaited.add((CompletableFuture<?>) given[0]);
                    }
                    try {
                        return method.invoke(watched, given);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        assertThat(NodeOpening.await(CompletableFuture.completedFuture("open"), runtime, "place", late -> {}))
                .isEqualTo("open");
        assertThat(awaited).hasSize(1);
        assertThat(watched.delays()).containsExactly(NodeOpening.OPEN_NANOS);
        assertThat(watched.armed()).as("time limits that are left").isZero();
        assertThatThrownBy(() -> NodeOpening.await(
                        CompletableFuture.failedFuture(new IllegalStateException("why")), runtime, "place", late -> {}))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot connect to place")
                .hasMessageContaining("why");
        StoreAccessException refusal = new StoreAccessException("no", null);
        assertThatThrownBy(
                        () -> NodeOpening.await(CompletableFuture.failedFuture(refusal), runtime, "place", late -> {}))
                .isSameAs(refusal);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> NodeOpening.await(new CompletableFuture<>(), runtime, "place", late -> {}))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("interrupted while connecting to place");
        assertThat(Thread.interrupted()).as("it is interrupted still").isTrue();
        assertThat(watched.armed()).as("time limits that are left").isZero();
        watched.close();
    }

    /** A member of a set reads it repeatedly: the future fails if no server is connected, and nothing is thrown. */
    @Test
    void whereNoServerIsConnectedTheLookFails() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        try (ScriptedRedis server = new ScriptedRedis()) {
            Deployment where = Deployment.of(server.uri());
            NodeOpening opening = new NodeOpening(where, LettuceDriver.of(where, new DriverThreads()), runtime);
            opening.outcome().get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
            server.close();
            ScriptedRedis.until("that is reported", () -> {
                Throwable thrown =
                        opening.look().handle((found, error) -> error).join();
                return thrown instanceof StoreUnavailableException
                        && thrown.getMessage().contains("cannot ask the server");
            });
            opening.close();
        } finally {
            runtime.close();
        }
    }

    @Test
    void aGroupIsAsDurableAsItsWeakest() {
        DurabilityCheck good = new DurabilityCheck(true, true, SettingsOrigin.START, null);
        DurabilityCheck evicting = new DurabilityCheck(true, false, SettingsOrigin.CHANGED, "allkeys-lru");
        assertThat(new NodeOpening.Outcome(true, Map.of(), null).weakest()).isNull();
        assertThat(new NodeOpening.Outcome(
                                true, Map.of(new Incarnation("a"), good, new Incarnation("b"), evicting), null)
                        .weakest())
                .isEqualTo(evicting);
        assertThat(new NodeOpening.Outcome(true, Map.of(new Incarnation("a"), good), null).weakest())
                .isEqualTo(good);
    }

    /** A fail-over may lose acknowledged writes, however durable each server is. */
    @Test
    void onlyASingleDurableServerPromisesMoreThanItsBest() {
        for (Deployment.Kind kind : Deployment.Kind.values()) {
            for (boolean durable : new boolean[] {true, false}) {
                boolean keeps = durable && kind == Deployment.Kind.SINGLE;
                Guarantees promised = RedisGuarantees.of(kind, durable);
                assertThat(promised.exclusion())
                        .as("%s, durable %s", kind, durable)
                        .isEqualTo(keeps ? Guarantee.Exclusion.WITHIN_DRIFT : Guarantee.Exclusion.BEST_EFFORT);
                assertThat(promised.fencing())
                        .isEqualTo(keeps ? Guarantee.Fencing.INCREASING : Guarantee.Fencing.BEST_EFFORT);
            }
        }
    }
}
