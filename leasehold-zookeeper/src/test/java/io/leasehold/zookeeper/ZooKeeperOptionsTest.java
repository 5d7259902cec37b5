package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Credentials, the base of the tokens, session timeouts: the accepted values, and one clear error for the rest. */
@Tag("full")
class ZooKeeperOptionsTest {

    @TempDir
    private Path directory;

    private Member member;

    @BeforeEach
    void start() {
        member = new Member(directory);
    }

    @AfterEach
    void stop() {
        member.close();
    }

    private String with(String userInfo, String chroot, String options) {
        String address = member.uri("").replaceAll("zk://([^/]*)/.*", "$1");
        return "zk://" + userInfo + address + chroot + "?tickTime=100ms" + options;
    }

    @Test
    void aLockThatMovesFromRedisGoesOnAboveItsTokens() throws Exception {
        long fromRedis = 1_800_000_000_000_000L;
        long base = 1_900_000_000_000_000L;
        try (LockClient client = Leasehold.connect(with("", "/moved", "&tokenBase=" + base))) {
            Register register = new Register();
            assertThat(register.write(fromRedis)).isTrue();
            for (int i = 0; i < 3; i++) {
                try (Lease lease = client.named("moved").acquire()) {
                    assertThat(register.write(lease.fencingToken())).isTrue();
                    assertThat(register.write(fromRedis + i)).isFalse();
                }
            }
        }
        assertThatThrownBy(() -> Leasehold.connect(with("", "/moved", "")))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("tokenBase is 0")
                .hasMessageContaining("tokenBase=" + base);
    }

    /** A resource that checks tokens. */
    private static final class Register {
        private long highest;

        boolean write(long token) {
            if (token < highest) {
                return false;
            }
            highest = token;
            return true;
        }
    }

    @Test
    void tokensThatWouldNotFitAreRefused() throws Exception {
        try (LockClient client = Leasehold.connect(with("", "/large", "&tokenBase=9007199254740991"))) {
            assertThatThrownBy(() -> client.named("large").acquire())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("2^53");
            assertThat(client.admin().inspect(LockName.exactly("large"))).isEmpty();
        }
    }

    @Test
    void aTtlBeyondTheSessionTimeoutIsRefused() {
        try (LockClient client = Leasehold.builder()
                .store(with("", "/short", "&sessionTimeout=2s"))
                .connect()) {
            assertThatThrownBy(() -> client.named("short").acquire())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("longer than the session timeout of 2s");
        }
    }

    @Test
    void anotherUserIsRefusedWithTheRightItLacks() throws Exception {
        try (LockClient owner = Leasehold.connect(with("owner:geheim@", "/private", ""));
                Lease lease = owner.named("mine").acquire()) {
            assertThat(lease.isValid()).isTrue();
        }
        assertThatThrownBy(() -> Leasehold.connect(with("thief:falsch@", "/private", "")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("user \"thief\" lacks a right")
                .hasMessageNotContaining("falsch");
        assertThatThrownBy(() -> Leasehold.connect(with("", "/private", "")))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContaining("the anonymous user lacks a right");
    }

    @Test
    void nobodyThereIsSaidSo() {
        String uri = with("", "", "");
        member.close();
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("zk://127.0.0.1:");
        String address = uri.replaceAll("zk://([^/?]*).*", "$1");
        long begun = System.nanoTime();
        while (connecting(address) > 0 && System.nanoTime() - begun < TimeUnit.MINUTES.toNanos(1)) {
            Thread.onSpinWait();
        }
        assertThat(connecting(address)).as("it tries no more").isZero();
    }

    /** The number of sessions of the driver that try to reach this member. */
    private static long connecting(String address) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("SendThread(" + address))
                .count();
    }

    @Test
    void aMutexOfCuratorStandsInTheSameQueue() throws Exception {
        String address = member.uri("").replaceAll("zk://([^/]*)/.*", "$1");
        try (LockClient client = Leasehold.connect(with("", "/curator", ""))) {
            client.named("shared").acquire().close();
            ZooKeeper foreign = new ZooKeeper(address, 10_000, event -> {});
            try {
                foreign.create(
                        "/curator/shared/_c_0af3c1b2-1d2e-4f50-8a6b-7c8d9e0f1a2b-lock-",
                        new byte[] {10, 0, 0, 1},
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.EPHEMERAL_SEQUENTIAL);
                assertThat(client.named("shared").tryAcquire(Duration.ZERO)).isNull();
                assertThat(client.admin()
                                .inspect(LockName.exactly("shared"))
                                .orElseThrow()
                                .id())
                        .isEqualTo("foreign");
            } finally {
                foreign.close();
            }
            try (Lease lease = client.named("shared").tryAcquire(Duration.ofSeconds(60))) {
                assertThat(lease).isNotNull();
            }
        }
    }
}
