package io.leasehold.spring.boot;

import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Whether there is a client without a name: always, but where all that is set, and all that is there, is for clients with one. */
final class OnClientWithoutName extends SpringBootCondition implements ConfigurationCondition {

    OnClientWithoutName() {}

    /** When it is known which beans the application has. */
    @Override
    public ConfigurationPhase getConfigurationPhase() {
        return ConfigurationPhase.REGISTER_BEAN;
    }

    @Override
    public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        ConditionMessage.Builder message = ConditionMessage.forCondition("a client without a name");
        if (NamedClients.in(context.getEnvironment()).isEmpty()) {
            return ConditionOutcome.match(message.because("there is no " + NamedClients.PREFIX));
        }
        return StoreOfApplication.isThereOne(
                        context.getEnvironment(), Objects.requireNonNull(context.getBeanFactory(), "beans"))
                ? ConditionOutcome.match(message.because("there is a place for its locks"))
                : ConditionOutcome.noMatch(message.because("nothing says where its locks would be kept"));
    }
}
