package io.leasehold.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.leasehold.Credentials;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.leasehold.spi.toolkit.Failure;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Puts the credentials of a provider into each log-in of the driver, in place of those with which its client was
 * created. The driver logs in before its first request, and again whenever the cluster no longer knows its token.
 */
final class Login implements ClientInterceptor {

    /** A stand-in that the driver accepts for user and password; it is never sent. */
    static final String STAND_IN = "by-provider";

    private final CredentialsDesk desk;

    /** Marks a refusal that answers a log-in, and not another request: user and password are wrong. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        private Refused() {
            super("the cluster refused the log-in", null, false, false);
        }
    }

    Login(CredentialsDesk desk) {
        this.desk = desk;
    }

    @Override
    public <A, B> ClientCall<A, B> interceptCall(MethodDescriptor<A, B> method, CallOptions options, Channel next) {
        return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
            private volatile @Nullable A held;

            @Override
            public void start(Listener<B> listener, Metadata headers) {
                super.start(
                        new ForwardingClientCallListener.SimpleForwardingClientCallListener<>(listener) {
                            @Override
                            public void onClose(Status status, Metadata trailers) {
                                boolean refused = held != null && status.getCode() == Status.Code.INVALID_ARGUMENT;
                                super.onClose(refused ? status.withCause(new Refused()) : status, trailers);
                            }
                        },
                        headers);
            }

            @Override
            public void sendMessage(A message) {
                if (message instanceof AuthenticateRequest) {
                    held = message;
                } else {
                    super.sendMessage(message);
                }
            }

            @Override
            public void halfClose() {
                A message = held;
                if (message == null) {
                    super.halfClose();
                    return;
                }
                desk.ask().whenComplete((login, error) -> {
                    if (error != null) {
                        super.cancel("no credentials", Failure.unwrapped(error));
                        return;
                    }
                    try {
                        super.sendMessage(filled(message, login));
                        super.halfClose();
                    } catch (RuntimeException | Error e) {
                        // Nothing else would end the call.
                        super.cancel("the log-in could not be sent", e);
                    }
                });
            }
        };
    }

    @SuppressWarnings("unchecked") // the one kind of message that is held back
    private static <A> A filled(A message, Credentials login) {
        String user = login.user();
        return (A) ((AuthenticateRequest) message)
                .toBuilder()
                        .setName(user == null ? "" : user)
                        .setPasswordBytes(ByteString.copyFrom(String.valueOf(login.password()), StandardCharsets.UTF_8))
                        .build();
    }
}
