package io.leasehold.reactor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.DistributedLock;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Tests that no operation of a subscriber on a lock blocks a thread that must not block. */
@Tag("full")
class BlockHoundTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @BeforeAll
    static void install() {
        BlockHound.install();
    }

    @Test
    void itFindsWhatBlocks() {
        assertThatThrownBy(() -> onNonBlockingThread(Mono.fromRunnable(() -> {
                            try {
                                Thread.sleep(1);
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        }))
                        .block(PATIENCE))
                .hasRootCauseInstanceOf(BlockingOperationError.class);
    }

    @Test
    void inMemory() throws InterruptedException {
        assertNothingBlocks("memory:");
    }

    @Test
    void onRedis() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            assertNothingBlocks(redis.uri());
        }
    }

    private static <T> Mono<T> onNonBlockingThread(Mono<T> mono) {
        return mono.subscribeOn(Schedulers.parallel());
    }

    private static void assertNothingBlocks(String uri) throws InterruptedException {
        try (LockClient locks = Leasehold.connect(uri)) {
            DistributedLock lock = locks.named("order:1");
            Mono<String> work = Mono.just("done").publishOn(Schedulers.parallel());
            for (int i = 0; i < 50; i++) {
                assertThat(onNonBlockingThread(ReactiveLocks.using(lock, PATIENCE, lease -> work))
                                .block(PATIENCE))
                        .isEqualTo("done");
            }
            CountDownLatch ended = new CountDownLatch(1);
            Mono<Object> holding = onNonBlockingThread(ReactiveLocks.using(
                    lock, PATIENCE, lease -> Mono.never().doOnSubscribe(begun -> ended.countDown())));
            Mono<String> cancelled = holding.timeout(Mono.fromRunnable(() -> {})
                            .delaySubscription(Duration.ofMillis(100), Schedulers.parallel()))
                    .thenReturn("not to be seen")
                    .onErrorResume(java.util.concurrent.TimeoutException.class, error -> Mono.just("cancelled"));
            assertThat(cancelled.block(PATIENCE)).isEqualTo("cancelled");
            assertThat(ended.await(1, TimeUnit.MINUTES)).isTrue();
            Mono<Object> lost = onNonBlockingThread(ReactiveLocks.using(
                    lock,
                    PATIENCE,
                    lease -> Mono.never().doOnSubscribe(begun -> locks.admin().forceRelease("order:1", null))));
            assertThatThrownBy(() -> lost.block(PATIENCE)).isInstanceOf(LeaseLostException.class);
            Mono<Object> nested = onNonBlockingThread(ReactiveLocks.using(
                    lock, PATIENCE, lease -> ReactiveLocks.using(lock, Duration.ofMillis(1), inner -> Mono.empty())));
            assertThatThrownBy(() -> nested.block(PATIENCE)).isInstanceOf(LockBusyException.class);
        }
    }
}
