package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.leasehold.StoreAccessException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What may pass by another log-in, and what does not. */
@Tag("quick")
class FailuresTest {

    private final Failures failures = new Failures(EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:2379")), true);

    private FailureKind kind(Status status) {
        Failures.Failure failure = failures.of("acquire of \"n\"", status.asRuntimeException());
        assertThat(failure.error()).isInstanceOf(StoreAccessException.class);
        return failure.kind();
    }

    @Test
    void aRequestThatIsTooLargeIsNotRepeatedForEver() {
        assertThat(kind(Status.INVALID_ARGUMENT.withDescription("etcdserver: request is too large")))
                .isEqualTo(FailureKind.PERMANENT);
    }

    @Test
    void aTokenThatIsNotKnownMayPass() {
        assertThat(kind(Status.UNAUTHENTICATED.withDescription("etcdserver: invalid auth token")))
                .isEqualTo(FailureKind.NO_EFFECT);
    }
}
