package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.array;
import static io.leasehold.redis.topology.ScriptedRedis.bulk;
import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.wire.CompareAndDelete;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests and answers of the plain store. */
@Tag("quick")
@Timeout(120)
final class PlainExchangesTest extends NodeExchanges {

    // ---- plain locks

    @Test
    void aPlainLockIsSetIfItIsFree() throws Exception {
        EfficiencyStore store = plain();
        assertThat(store.guarantees().queueing()).isEqualTo(Guarantee.Queueing.POLLING);
        says(LuaScript.RENEW, array(List.of(":1\r\n", ":2\r\n", ":0\r\n")));
        List<RenewReply.Item> renewed = answer(store.renew(renewals(2))).items();
        assertThat(renewed.get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renewed.get(1)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(last(LuaScript.RENEW))
                .containsExactly("lock:{n0}", "lock:{n1}", "9001", owner.hex() + ":", owner.hex() + ":");
        server.says("SET", "+OK\r\n");
        AcquireReply reply = answer(store.acquire(request(NAME).reserve(4)));
        assertThat(reply).isInstanceOfSatisfying(AcquireReply.Granted.class, granted -> {
            assertThat(granted.grant().tokens().first()).isEqualTo(1);
            assertThat(granted.grant().tokens().last()).isEqualTo(4);
        });
        assertThat(answer(store.acquire(request(NAME))))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().tokens().first()).isEqualTo(5));
        assertThat(server.asked("SET " + LOCK + " " + owner.hex() + "::host/1/x PX 30000 NX"))
                .isEqualTo(2);
        server.says("SET", "$-1\r\n");
        assertThat(answer(store.acquire(request(NAME)))).isEqualTo(new AcquireReply.Busy(null, 0, List.of()));
        server.says("SET", "-NOPERM no\r\n");
        assertThat(answer(store.acquire(request(NAME)))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.ballot()).isZero();
        });
        assertThat(store.description()).isEqualTo("the store");
    }

    /** The outcome of the first request is unknown, so the next one checks whether the key is its own. */
    @Test
    void aPlainRequestWithoutAnAnswerIsToldByItsBallot() throws Exception {
        EfficiencyStore store = plain();
        server.says("SET", ScriptedRedis.END);
        assertThat(answer(store.acquire(request(NAME)))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
            assertThat(failed.ballot()).isOne();
        });
        until("it is connected again", () -> topology.current(LOCK) != null);
        says(LuaScript.PLAIN_ACQUIRE, array(List.of(":1\r\n")));
        assertThat(answer(store.acquire(request(NAME).ballotSoFar(1)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(last(LuaScript.PLAIN_ACQUIRE)).containsExactly(LOCK, owner.hex() + "::host/1/x", "30000");
        says(LuaScript.PLAIN_ACQUIRE, array(List.of(":0\r\n")));
        assertThat(answer(store.acquire(request(NAME).ballotSoFar(1))))
                .isEqualTo(new AcquireReply.Busy(null, 1, List.of()));
    }

    /**
     * The server was restarted and does not know the script. By then the undo has been sent, and nothing would end a
     * later grant.
     */
    @Test
    void aPlainRequestThatWasGivenUpIsNotSentAgain() throws Exception {
        EfficiencyStore store = plain();
        AtomicInteger texts = new AtomicInteger();
        CountDownLatch late = new CountDownLatch(1);
        server.says("EVALSHA", command -> {
            try {
                late.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
        });
        server.says("EVAL", command -> {
            texts.incrementAndGet();
            return array(List.of(":1\r\n"));
        });
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(NAME), owner, "host/1/x", LIMIT_NANOS, TimeUnit.MILLISECONDS.toNanos(50))
                .ballotSoFar(1);
        assertThat(answer(store.acquire(request)))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
        late.countDown();
        for (int i = 0; i < 2; i++) {
            // After the refusal, and after what might have followed it.
            answer(topology.connected().get(0).ask(PlainCommand.INFO));
        }
        assertThat(texts).hasValue(0);
    }

    private ReleaseReply release(EfficiencyStore store) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(NAME), owner, 1, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS)));
    }

    /** A proxy in between may not know the command; only then does the script run. */
    @Test
    void aPlainReleaseGoesOverToTheScriptOnlyWhereTheCommandIsRefused() throws Exception {
        EfficiencyStore store = plain();
        server.says("SET", "+OK\r\n");
        answer(store.acquire(request(NAME)));
        says(LuaScript.PLAIN_RELEASE, array(List.of(":1\r\n")));
        String value = owner.hex() + "::host/1/x";
        for (CompareAndDelete way : CompareAndDelete.values()) {
            if (way == CompareAndDelete.SCRIPT) {
                continue;
            }
            store.comparing(way);
            server.says(way.name(), ":1\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Released.class);
            server.says(way.name(), ":0\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.NotOurs.class);
            assertThat(server.asked(way.name() + " " + LOCK + (way == CompareAndDelete.DELEX ? " IFEQ " : " ") + value))
                    .isEqualTo(2);
            server.says(way.name(), "-LOADING no\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Failed.class);
            assertThat(store.comparison()).isEqualTo(way);
            int before = ran(LuaScript.PLAIN_RELEASE).size();
            server.says(way.name(), "-ERR unknown command\r\n");
            assertThat(release(store)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(ran(LuaScript.PLAIN_RELEASE)).hasSize(before + 1);
            assertThat(last(LuaScript.PLAIN_RELEASE)).containsExactly(LOCK, value);
            assertThat(store.comparison()).isEqualTo(CompareAndDelete.SCRIPT);
        }
        says(LuaScript.PLAIN_RELEASE, "-NOPERM no\r\n");
        assertThat(release(store))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
    }

    @Test
    void thePlainStoreFindsOutWhatItsServerHas() throws Exception {
        EfficiencyStore store = plain();
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.SCRIPT);
        server.says("INFO", bulk("redis_version:8.4.0\r\n"));
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.DELEX);
        assertThat(store.comparison()).isEqualTo(CompareAndDelete.DELEX);
        server.says("INFO", "-NOPERM no\r\n");
        assertThat(answer(store.detect())).isEqualTo(CompareAndDelete.SCRIPT);
        AtomicInteger told = new AtomicInteger();
        store.listen((StoreSignals) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {StoreSignals.class}, (self, method, arguments) -> {
                    told.incrementAndGet();
                    return null;
                }));
        server.is("role:master");
        server.endAll();
        until("it is notified", () -> told.get() == 1);
        says(LuaScript.INSPECT, bulks("free"));
        assertThat(answer(store.admin().describe(NAME))).isEmpty();
        says(LuaScript.FORCE_RELEASE, bulks("removed"));
        assertThat(answer(store.admin().forceRelease(NAME, null))).isTrue();
        server.says("SCAN", array(List.of(bulk("0"), bulks(LOCK))));
        says(LuaScript.INSPECT, bulks("held", "lock", "1:host/2/y", "900"));
        assertThat(answer(store.admin().list("*", 5))).hasSize(1);
        assertThat(answer(store.renew(new RenewBatch(List.of(), LIMIT_NANOS))).items())
                .isEmpty();
        store.close();
        until("nothing is left", () -> server.open() == 0);
    }
}
