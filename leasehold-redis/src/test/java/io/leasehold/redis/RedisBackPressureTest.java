package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that a client does not overload a slow server with requests. */
@Tag("full")
class RedisBackPressureTest {

    private static final int MAX_ACQUIRES = 4_096;
    private static final int MOST = 8_192;
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(100);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static CompletableFuture<NodeReply> acquire(NodeBench bench, int i) {
        AcquireRequest request = AcquireRequest.exclusive(
                List.of(LockName.exactly("crowd:" + i)),
                OwnerToken.draw(bench.runtime),
                "host/1/test",
                TimeUnit.SECONDS.toNanos(300),
                PATIENCE);
        return bench.node.acquire(new Ballot(request, bench.candidate(), 1));
    }

    private static CompletableFuture<ReleaseReply> release(NodeBench bench, int i) {
        return bench.node.release(new ReleaseRequest(
                List.of(LockName.exactly("other:" + i)),
                OwnerToken.draw(bench.runtime),
                0,
                ReleaseRequest.Kind.RELEASE,
                PATIENCE));
    }

    /** max(50 ms, min(3 s, ttl / 10)), as the message says. */
    @ParameterizedTest
    @CsvSource({"300, 50", "2000, 200", "60000, 3000"})
    void theTimeLimitOfARequestFollowsFromTheTtl(long ttlMillis, long limitMillis) {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient locks = Leasehold.connect("redis://127.0.0.1:" + proxy.port())) {
            proxy.drop();
            assertThatThrownBy(() -> locks.named("x")
                            .with(o -> o.ttl(Duration.ofMillis(ttlMillis)))
                            .attempt(Duration.ZERO))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("within " + limitMillis + " ms");
        }
    }

    @Test
    void requestsInFlightAreBoundedWithRoomForThoseThatHold() {
        try (NodeBench bench = NodeBench.at(SERVER.server().port())) {
            List<CompletableFuture<NodeReply>> acquires = new ArrayList<>();
            List<CompletableFuture<ReleaseReply>> releases = new ArrayList<>();
            SERVER.server().freeze();
            try {
                for (int i = 0; i < MAX_ACQUIRES + 100; i++) {
                    acquires.add(acquire(bench, i));
                }
                for (int i = 0; i < MOST; i++) {
                    releases.add(release(bench, i));
                }
                assertThat(acquires.subList(0, MAX_ACQUIRES)).noneMatch(CompletableFuture::isDone);
                assertThat(acquires.subList(MAX_ACQUIRES, acquires.size()))
                        .allSatisfy(refused -> assertThat(NodeBench.answer(refused))
                                .isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                                    assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                                    assertThat(failed.error())
                                            .isInstanceOf(StoreUnavailableException.class)
                                            .hasMessageContaining("4096 requests")
                                            .hasMessageContaining("crowd:")
                                            .hasMessageContaining("overloaded");
                                }));
                assertThat(releases.subList(0, MOST - MAX_ACQUIRES)).noneMatch(CompletableFuture::isDone);
                assertThat(releases.subList(MOST - MAX_ACQUIRES, MOST)).allMatch(CompletableFuture::isDone);
            } finally {
                SERVER.server().thaw();
            }
            acquires.subList(0, MAX_ACQUIRES)
                    .forEach(done -> assertThat(NodeBench.answer(done)).isInstanceOf(NodeReply.Yes.class));
            releases.subList(0, MOST - MAX_ACQUIRES)
                    .forEach(done -> assertThat(NodeBench.answer(done)).isInstanceOf(ReleaseReply.NotOurs.class));
            assertThat(NodeBench.answer(acquire(bench, MAX_ACQUIRES))).isInstanceOf(NodeReply.Yes.class);
        }
    }
}
