package io.leasehold.spring;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportAware;
import org.springframework.context.annotation.Role;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationAttributes;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/** The beans of {@link EnableLeasehold}. */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
final class LeaseholdConfiguration implements ImportAware {

    private int order = Ordered.LOWEST_PRECEDENCE;

    LeaseholdConfiguration() {}

    static AnnotationAttributes attributes(AnnotationMetadata importing) {
        return Objects.requireNonNull(
                AnnotationAttributes.fromMap(importing.getAnnotationAttributes(EnableLeasehold.class.getName())));
    }

    @Override
    public void setImportMetadata(AnnotationMetadata importing) {
        order = attributes(importing).<Integer>getNumber("order");
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedMethods leaseholdMethods(ConfigurableBeanFactory beans) {
        StandardEvaluationContext expressions = new StandardEvaluationContext();
        expressions.setBeanResolver(new BeanFactoryResolver(beans));
        return new LockedMethods(new LockedMethodReader(text -> textOr(beans.resolveEmbeddedValue(text)), expressions));
    }

    private static String textOr(@Nullable String text) {
        return text == null ? "" : text;
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockClients leaseholdClients(ListableBeanFactory beans) {
        return new LockClients(beans);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    LockedAdvisor leaseholdAdvisor(
            LockedMethods methods, LockClients clients, ListableBeanFactory beans, Environment environment) {
        Integer given = environment.getProperty("leasehold.advisor-order", Integer.class, order);
        return new LockedAdvisor(
                methods,
                new LockedInterceptor(methods, clients),
                given == Ordered.LOWEST_PRECEDENCE ? LockedAdvisor.orderBeforeTransactions(beans) : given);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedBeans leaseholdBeans(
            LockedMethods methods, LockClients clients, ConfigurableListableBeanFactory beans) {
        return new LockedBeans(methods, clients, beans);
    }
}
