package io.leasehold.spring.boot;

import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Matches if there is a client without a name: always, unless all configured properties and all available stores are
 * for named clients.
 */
final class OnClientWithoutName extends SpringBootCondition implements ConfigurationCondition {

    OnClientWithoutName() {}

    /** Evaluated when the beans of the application are known. */
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
                ? ConditionOutcome.match(message.because("there is a store for its locks"))
                : ConditionOutcome.noMatch(message.because("no property selects a store for its locks"));
    }
}
