package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.nio.file.Path;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a client that only looks creates no node. */
@Tag("full")
class ExistingChrootTest {

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

    private Leasehold.Builder existing(String options) {
        return Leasehold.builder().store(member.uri(options)).existing();
    }

    @Test
    void aMissingChrootIsNoStoreAndIsNotMade() {
        assertThatThrownBy(() -> existing("").connect())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageStartingWith("there is no store at zk://127.0.0.1:" + member.port() + "/tests: no lock");
        assertThat(member.children("/")).containsExactly("zookeeper");
    }

    @Test
    void theLocksOfAStoreAreSeenAndItsBaseIsCompared() throws InterruptedException {
        try (LockClient ordinary = Leasehold.connect(member.uri(""));
                Lease lease = ordinary.named("job").acquire();
                LockClient look = existing("").connect()) {
            assertThat(look.admin().list("*", 9)).hasSize(1);
            assertThat(look.admin().forceRelease(LockName.of("job"), null)).isTrue();
        }
        assertThatThrownBy(() -> existing("&tokenBase=7").connect())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("tokenBase is 7");
    }

    /** Curator may keep locks there. */
    @Test
    void aChrootOfAnotherProgramIsReadAndGetsNoBase() throws Exception {
        ZooKeeper other = new ZooKeeper("127.0.0.1:" + member.port(), 60_000, event -> {});
        try {
            other.create("/tests", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            other.create("/tests/job", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            other.create(
                    "/tests/job/x-lock-", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
            try (LockClient look = existing("").connect()) {
                assertThat(look.admin().list("*", 9)).hasSize(1);
            }
            assertThat(member.children("/tests")).containsExactly("job");
        } finally {
            other.close();
        }
    }

    @Test
    void aProviderOfCredentialsIsRefusedAsUsual() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> existing("")
                        .credentials(() -> Credentials.ofPassword("x"))
                        .connect())
                .withMessageContaining("takes no credentials from a provider");
    }
}
