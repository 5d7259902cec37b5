package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the questions to Sentinels for the master: each question opens a connection to each of them. */
@Tag("full")
@Timeout(120)
final class SentinelQuestionsTest {

    /** This is longer than the longest pause between two questions and than the duration of one. */
    private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(2_500);

    private RedisSentinelGroup group;
    private List<TcpProxy> proxies;
    private WatchedRuntime runtime;
    private MasterTopology topology;

    @BeforeEach
    void open() throws Exception {
        try {
            group = RedisSentinelGroup.start(1);
        } catch (ServerUnavailableException e) {
            abort("no Redis server here: " + e.getMessage());
        }
        // On a busy machine a second is too short.
        group.sentinels()
                .forEach(sentinel -> sentinel.call(
                        "SENTINEL", "SET", RedisSentinelGroup.MASTER_NAME, "down-after-milliseconds", "60000"));
        proxies = group.sentinels().stream()
                .map(sentinel -> TcpProxy.to(sentinel.port()))
                .toList();
        Deployment where = Deployment.parse(StoreUri.parse(proxies.stream()
                .map(proxy -> "127.0.0.1:" + proxy.port())
                .collect(Collectors.joining(",", "redis-sentinel://", "/" + RedisSentinelGroup.MASTER_NAME))));
        runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
        topology = new MasterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
        topology.open().get(60, TimeUnit.SECONDS);
        comesToRest();
    }

    @AfterEach
    void close() {
        if (topology != null) {
            topology.close();
        }
        if (runtime != null) {
            runtime.close();
        }
        if (proxies != null) {
            proxies.forEach(TcpProxy::close);
        }
        if (group != null) {
            group.close();
        }
    }

    private long questions() {
        return proxies.stream()
                .mapToLong(proxy -> proxy.connections().accepted())
                .sum();
    }

    /** Waits until no question follows and only the subscriptions are open. */
    private void comesToRest() {
        long start = System.nanoTime();
        long before = -1;
        for (long now = questions(); now != before; now = questions()) {
            assertThat(System.nanoTime() - start).as("rest").isLessThan(TimeUnit.SECONDS.toNanos(60));
            before = now;
            LockSupport.parkNanos(REST_NANOS);
        }
        assertThat(proxies)
                .as("one subscription to each")
                .allMatch(proxy -> proxy.connections().open() == 1);
    }

    @Test
    void eachRequestThatIsNotAnsweredLeadsToAQuestion() {
        for (int i = 1; i <= 4; i++) {
            long before = questions();
            topology.unanswered(topology.connected().get(0));
            comesToRest();
            assertThat(questions() - before).as("connections, time %s", i).isEqualTo(proxies.size());
        }
    }

    /** The questions become rarer, and are frequent again after a rest. */
    @Test
    void manyRequestsThatAreNotAnsweredLeadToFewQuestions() {
        for (int i = 1; i <= 2; i++) {
            long before = questions();
            int delays = runtime.delays().size();
            long start = System.nanoTime();
            while (System.nanoTime() - start < TimeUnit.SECONDS.toNanos(2)) {
                topology.unanswered(topology.connected().get(0));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
            comesToRest();
            assertThat(questions() - before)
                    .as("connections, time %s", i)
                    .isBetween(2L * proxies.size(), 12L * proxies.size());
            assertThat(runtime.delays().stream()
                            .skip(delays)
                            .filter(SentinelQuestionsTest::isPause)
                            .findFirst())
                    .as("the first pause, time %s", i)
                    .hasValueSatisfying(
                            first -> assertThat(first).isLessThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(80)));
        }
    }

    /**
     * Whether a delay is a pause: neither the limit of an answer nor the time for the others after one has answered.
     */
    private static boolean isPause(long delayNanos) {
        return delayNanos < TimeUnit.SECONDS.toNanos(1) && delayNanos != TimeUnit.MILLISECONDS.toNanos(300);
    }

    /** All subscriptions end at once, and each new one is a reason to ask, even during a question. */
    @Test
    void whatIsHeardDuringAQuestionLeadsToOneMore() {
        for (int i = 1; i <= 3; i++) {
            long before = questions();
            proxies.forEach(proxy -> proxy.toClient().delay(java.time.Duration.ofMillis(100)));
            proxies.forEach(TcpProxy::resetAll);
            while (questions() < before + 2L * proxies.size()) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
            proxies.forEach(proxy -> proxy.toClient().delay(java.time.Duration.ZERO));
            comesToRest();
        }
    }
}
