package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletionException;
import org.apache.zookeeper.KeeperException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The meaning of the driver's errors: an error is no refusal, and an error that may pass is not final. */
@Tag("quick")
class FailuresTest {

    private final Failures failures = new Failures(ZooKeeperUri.parse(StoreUri.parse("zk://localhost/p")));

    @ParameterizedTest
    @CsvSource({
        "CONNECTIONLOSS, UNKNOWN, StoreUnavailableException",
        "OPERATIONTIMEOUT, UNKNOWN, StoreUnavailableException",
        "REQUESTTIMEOUT, UNKNOWN, StoreUnavailableException",
        "SESSIONMOVED, UNKNOWN, StoreUnavailableException",
        "SYSTEMERROR, UNKNOWN, StoreUnavailableException",
        "SESSIONEXPIRED, NO_EFFECT, StoreUnavailableException",
        "THROTTLEDOP, NO_EFFECT, StoreUnavailableException",
        "NOAUTH, PERMANENT, StoreAccessException",
        "AUTHFAILED, PERMANENT, StoreAccessException",
        "INVALIDACL, PERMANENT, StoreAccessException",
        "QUOTAEXCEEDED, PERMANENT, StoreAccessException"
    })
    void whatAnAnswerMeans(KeeperException.Code code, FailureKind kind, String type) {
        Throwable wrapped = new CompletionException(KeeperException.create(code, "/p/lock"));
        Failure failure = failures.of("acquire", wrapped);
        assertThat(failure.kind()).isEqualTo(kind);
        assertThat(failure.error().getClass().getSimpleName()).isEqualTo(type);
        assertThat(failure.error()).hasMessageContaining("acquire at zk://localhost:2181/p");
    }

    @Test
    void whatIsNoAnswerMeans() {
        assertThat(failures.of("acquire", new IllegalStateException("x")).kind())
                .isEqualTo(FailureKind.UNKNOWN);
        StoreUnavailableException down = new StoreUnavailableException("down", null);
        assertThat(failures.of("acquire", down)).isEqualTo(new Failure(FailureKind.NO_EFFECT, down));
        UnsafeStoreException unsafe = new UnsafeStoreException("unsafe", null);
        assertThat(failures.of("acquire", unsafe)).isEqualTo(new Failure(FailureKind.PERMANENT, unsafe));
        assertThat(failures.late("acquire", 1_500_000_000L)).hasMessageContaining("not answered within 1500 ms");
    }

    @Test
    void onlyAMissingNodeIsMissing() {
        assertThat(Failures.isMissing(KeeperException.create(KeeperException.Code.NONODE)))
                .isTrue();
        assertThat(Failures.isMissing(new CompletionException(KeeperException.create(KeeperException.Code.NONODE))))
                .isTrue();
        assertThat(Failures.isMissing(KeeperException.create(KeeperException.Code.CONNECTIONLOSS)))
                .isFalse();
        assertThat(Failures.isMissing(null)).isFalse();
    }

    @Test
    void whatCanBeNoLease() {
        LockName lock = LockName.of("lock");
        assertThat(failures.refusal(lock, TokenRange.LIMIT - 1, 30, 30)).isNull();
        assertThat(failures.refusal(lock, TokenRange.LIMIT, 30, 30)).hasMessageContaining("2^53");
        assertThat(failures.refusal(lock, 1, 30, 29)).hasMessageContaining("session timeout");
    }

    private static String said(String uri, KeeperException error) {
        return new Failures(ZooKeeperUri.parse(StoreUri.parse(uri)))
                .of("acquire", error)
                .error()
                .getMessage();
    }

    @Test
    void aRefusalNamesTheUserAndTheNode() {
        assertThat(said("zk://h/p", KeeperException.create(KeeperException.Code.NOAUTH, "/p/lock")))
                .contains("the anonymous user lacks a right at /p/lock")
                .contains("cdr");
        assertThat(said("zk://me:secret@h/p", KeeperException.create(KeeperException.Code.NOAUTH, "/p/lock")))
                .contains("user \"me\" lacks a right")
                .doesNotContain("secret");
        assertThat(said("zk://me:secret@h/p", KeeperException.create(KeeperException.Code.AUTHFAILED)))
                .contains("the credentials of user \"me\" were refused");
        assertThat(said("zk://h/p", KeeperException.create(KeeperException.Code.QUOTAEXCEEDED, "/p")))
                .contains("the quota of /p is used up");
        assertThat(said("zk://h/p", KeeperException.create(KeeperException.Code.SYSTEMERROR, "/p/lock")))
                .contains("SYSTEMERROR for /p/lock");
        assertThat(said("zk://h/p", KeeperException.create(KeeperException.Code.CONNECTIONLOSS)))
                .contains("the connection was lost");
    }

    @Test
    void anErrorIsUnwrapped() {
        Throwable inner = new IllegalStateException("inner");
        assertThat(Failure.unwrapped(new CompletionException(new CompletionException(inner))))
                .isSameAs(inner);
        Throwable alone = new CompletionException("alone", null);
        assertThat(Failure.unwrapped(alone)).isSameAs(alone);
        assertThat(Failures.codeOf(inner)).isNull();
        assertThat(failures.of("acquire", inner).error())
                .hasMessageContaining("IllegalStateException: inner")
                .hasCause(inner);
    }

    @Test
    void aSessionThatIsTooShortSaysByHowMuch() {
        assertThat(failures.refusal(LockName.of("n"), 1, 30_000_000_000L, 2_000_000_000L))
                .hasMessageContaining("lock \"n\"")
                .hasMessageContaining("ttl of 30s")
                .hasMessageContaining("session timeout of 2s");
        assertThat(new Failures(ZooKeeperUri.parse(StoreUri.parse("zk://h?tokenBase=77")))
                        .refusal(LockName.of("n"), TokenRange.LIMIT, 1, 1))
                .hasMessageContaining("tokenBase 77");
    }
}
